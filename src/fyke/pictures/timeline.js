// A timeline to look around in.  DATA is what interactive.py has written: plain arrays, sorted by time.
"use strict";
(function () {
  const data = DATA;
  const canvas = document.getElementById("canvas"), tip = document.getElementById("tip");
  const pick = document.getElementById("key"), info = document.getElementById("info");
  const list = document.getElementById("matches"), find = document.getElementById("find");
  const context = canvas.getContext("2d");
  const count = data.start.length, lanes = data.lanes.length;
  const LANE = 52, AXIS = 34, LEFT = Math.min(220, 24 + 8 * Math.max(4, ...data.lanes.map((l) => l.length)));
  let first = data.first, last = data.last, key = -1, chosen = -1, hover = -1, queued = false, colours = {};
  let longest = 0;
  for (let i = 0; i < count; i++) longest = Math.max(longest, data.end[i] - data.start[i]);
  const matchesOf = new Map();
  data.matches.forEach((match, number) => match.marks.forEach((mark) => {
    if (!matchesOf.has(mark)) matchesOf.set(mark, []);
    matchesOf.get(mark).push(number);
  }));

  function readColours() {
    const style = getComputedStyle(document.documentElement);
    for (const name of ["paper", "ink", "faint", "line", "grid", "panel", "window", "absence", "bad", "accent",
      "c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"]) colours[name] = style.getPropertyValue("--" + name).trim();
  }
  const width = () => canvas.clientWidth, x = (t) => LEFT + (t - first) / (last - first) * (width() - LEFT - 16);
  const timeAt = (px) => first + (px - LEFT) / (width() - LEFT - 16) * (last - first);
  const y = (lane) => LANE * (lane + 0.5) + 8;
  const shown = (i) => key < 0 || data.key[i] === key;

  function lowest(time) {            // the first event that ends at a time or later
    let low = 0, high = count;
    while (low < high) { const mid = (low + high) >> 1; if (data.end[mid] < time) low = mid + 1; else high = mid; }
    return low;
  }

  function draw() {
    queued = false;
    const ratio = window.devicePixelRatio || 1, high = LANE * lanes + AXIS + 16;
    canvas.style.height = high + "px";
    if (canvas.width !== Math.round(width() * ratio) || canvas.height !== Math.round(high * ratio)) {
      canvas.width = Math.round(width() * ratio); canvas.height = Math.round(high * ratio);
    }
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = colours.paper; context.fillRect(0, 0, width(), high);
    context.font = "12px " + getComputedStyle(document.body).fontFamily;
    for (let lane = 0; lane < lanes; lane++) {
      if (lane % 2 === 0) { context.fillStyle = colours.panel; context.fillRect(0, y(lane) - LANE / 2, width(), LANE); }
      context.strokeStyle = colours.grid; line(LEFT, y(lane), width() - 16, y(lane));
    }
    context.save(); context.beginPath(); context.rect(LEFT - 12, 0, width() - LEFT + 12, high); context.clip();
    drawWindows(); drawAbsences();
    const drawn = drawMatches(), seen = drawEvents();
    context.restore();
    context.fillStyle = colours.ink; context.textAlign = "left";
    for (let lane = 0; lane < lanes; lane++) context.fillText(cut(data.lanes[lane], LEFT - 20), 8, y(lane) + 4);
    drawAxis(high);
    info.textContent = seen.toLocaleString("en") + " of " + count.toLocaleString("en") + " events, " +
      drawn.toLocaleString("en") + " of " + data.matches.length.toLocaleString("en") + " matches in view";
    document.documentElement.dataset.seen = String(seen);
  }
  function cut(text, room) {
    while (text.length > 2 && context.measureText(text).width > room) text = text.slice(0, -2) + "…";
    return text;
  }
  function line(x1, y1, x2, y2) { context.beginPath(); context.moveTo(x1, y1); context.lineTo(x2, y2); context.stroke(); }
  const visible = (match) => match.last >= first && match.first <= last && (key < 0 || data.key[match.marks[0]] === key);

  function drawWindows() {
    context.fillStyle = colours.window;
    data.matches.forEach((match, number) => {
      if (!match.window || !visible(match) || (chosen >= 0 && number !== chosen)) return;
      if (chosen < 0 && data.matches.length > 200) return;   // so many would cover everything
      context.globalAlpha = chosen >= 0 ? 0.8 : 0.35;
      context.fillRect(x(match.window[0]), 8, Math.max(2, x(match.window[1]) - x(match.window[0])), LANE * lanes);
    });
    context.globalAlpha = 1;
  }
  function drawAbsences() {
    context.fillStyle = colours.absence;
    for (const part of data.absences) {
      if (part[1] < first || part[0] > last) continue;
      context.fillRect(x(part[0]), y(part[2]) - LANE / 2 + 5, Math.max(3, x(part[1]) - x(part[0])), LANE - 10);
    }
  }
  function drawMatches() {
    let drawn = 0;
    context.lineWidth = 2;
    data.matches.forEach((match, number) => {
      if (!visible(match)) return;
      drawn++;
      context.globalAlpha = chosen < 0 || chosen === number ? 0.9 : 0.15;
      context.strokeStyle = colours["c" + number % 8];
      context.beginPath();
      match.marks.forEach((mark, place) => {
        const px = (x(data.start[mark]) + x(data.end[mark])) / 2, py = y(data.lane[mark]);
        if (place) context.lineTo(px, py); else context.moveTo(px, py);
      });
      context.stroke();
      for (const mark of match.marks) {
        context.beginPath();
        context.arc((x(data.start[mark]) + x(data.end[mark])) / 2, y(data.lane[mark]), 8, 0, 7); context.stroke();
      }
    });
    context.globalAlpha = 1; context.lineWidth = 1;
    return drawn;
  }
  function drawEvents() {
    let seen = 0;
    for (let i = lowest(first); i < count; i++) {
      if (data.end[i] - longest > last) break;
      if (data.start[i] > last || !shown(i)) continue;
      seen++;
      context.fillStyle = i === hover ? colours.accent : matchesOf.has(i) ? colours.ink : colours.faint;
      const x1 = x(data.start[i]), x2 = x(data.end[i]);
      if (x2 - x1 > 6) context.fillRect(x1, y(data.lane[i]) - 5, x2 - x1, 10);
      else { context.beginPath(); context.arc((x1 + x2) / 2, y(data.lane[i]), i === hover ? 6 : 4, 0, 7); context.fill(); }
    }
    return seen;
  }

  const STEPS = [1e-9, 1e-6, 1e-3].flatMap((u) => [1, 2, 5, 10, 20, 50, 100, 200, 500].map((n) => n * u)).concat(
    [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800,
      1209600, 2592000, 7776000, 15552000, 31536000, 157680000]);
  function step(most) {
    if (!data.dated) {
      const wanted = Math.max(1, (last - first) / most), power = Math.pow(10, Math.floor(Math.log10(wanted)));
      return [1, 2, 5, 10].map((n) => n * power).find((n) => n >= wanted);
    }
    const wanted = (last - first) * data.unit / 1e9 / most;
    return Math.max(1, Math.round((STEPS.find((n) => n >= wanted) || 157680000) * 1e9 / data.unit));
  }
  function when(time, by) {
    const at = time + data.origin;
    if (!data.dated) return at.toLocaleString("en");
    const text = new Date(Math.floor(at * data.unit / 1e6)).toISOString();
    const seconds = by * data.unit / 1e9;
    if (seconds >= 86400) return text.slice(0, 10);
    return text.slice(0, 10) + " " + text.slice(11, seconds >= 60 ? 16 : seconds >= 1 ? 19 : 23);
  }
  function drawAxis(high) {
    const by = step(Math.max(2, (width() - LEFT) / 170)), bottom = LANE * lanes + 8;
    context.strokeStyle = colours.line; line(LEFT, bottom, width() - 16, bottom);
    context.fillStyle = colours.faint; context.textAlign = "center";
    let free = LEFT - 40;
    for (let at = Math.ceil((first + data.origin) / by) * by - data.origin; at <= last; at += by) {
      const text = when(at, by), wide = context.measureText(text).width;
      const place = Math.min(Math.max(x(at), 4 + wide / 2), width() - 4 - wide / 2);
      line(x(at), bottom, x(at), bottom + 5);
      if (place - wide / 2 > free) { context.fillText(text, place, bottom + 20); free = place + wide / 2 + 12; }
    }
  }
  function later() { if (!queued) { queued = true; requestAnimationFrame(draw); } }

  function move(from, to) {
    const least = data.dated ? 10 : 1, whole = data.last - data.first;
    if (to - from < least) { const middle = (from + to) / 2; from = middle - least / 2; to = middle + least / 2; }
    if (to - from > whole * 1.2) { from = data.first - whole * 0.1; to = data.last + whole * 0.1; }
    first = from; last = to; later();
  }
  function zoom(factor, at) { move(at - (at - first) * factor, at + (last - at) * factor); }
  function pan(share) { const by = (last - first) * share; move(first + by, last + by); }
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) pan(event.deltaX / 1000);
    else zoom(Math.exp(event.deltaY / 500), timeAt(event.offsetX));
  }, { passive: false });
  let held = null;
  canvas.addEventListener("pointerdown", (event) => { held = [event.offsetX, first, last]; canvas.setPointerCapture(event.pointerId); });
  canvas.addEventListener("pointerup", () => { held = null; });
  canvas.addEventListener("pointermove", (event) => {
    if (held) {
      const by = (held[0] - event.offsetX) / (width() - LEFT - 16) * (held[2] - held[1]);
      move(held[1] + by, held[2] + by);
      return;
    }
    point(event.offsetX, event.offsetY);
  });
  canvas.addEventListener("pointerleave", () => { hover = -1; tip.hidden = true; later(); });

  function point(px, py) {
    let best = -1, nearest = 12;
    const reach = timeAt(px + 12);
    for (let i = lowest(timeAt(px - 12)); i < count && data.end[i] - longest <= reach; i++) {
      if (!shown(i) || Math.abs(y(data.lane[i]) - py) > LANE / 2) continue;
      const x1 = x(data.start[i]), x2 = x(data.end[i]);
      const far = px < x1 ? x1 - px : px > x2 ? px - x2 : 0;
      if (far < nearest) { nearest = far; best = i; }
    }
    if (best !== hover) { hover = best; later(); }
    tip.hidden = best < 0;
    if (best < 0) return;
    tip.textContent = "";
    tell(data.types[data.type[best]] || "event", true);
    tell(when(data.end[best], 1));
    data.columns.forEach((name, k) => tell(name + ": " + data.values[k][best]));
    const own = matchesOf.get(best) || [];
    if (own.length) tell(own.length === 1 ? "in match " + (own[0] + 1) : "in " + own.length + " matches");
    const box = canvas.getBoundingClientRect();
    tip.style.left = Math.max(4, Math.min(px + 14, width() - tip.offsetWidth - 8)) + "px";
    tip.style.top = Math.min(py + 14, box.height - 10) + "px";
  }
  function tell(text, strong) {
    const part = document.createElement(strong ? "strong" : "div");
    part.textContent = text; tip.appendChild(part);
  }

  function fillKeys() {
    const wanted = find.value.toLowerCase();
    pick.textContent = "";
    option("all keys (" + data.keys.length.toLocaleString("en") + ")", -1);
    let left = 500;
    data.keys.forEach((name, number) => {
      if (left > 0 && name.toLowerCase().includes(wanted)) { option(name, number); left--; }
    });
  }
  function option(text, value) {
    const made = document.createElement("option");
    made.textContent = text; made.value = String(value); made.selected = value === key; pick.appendChild(made);
  }
  function choose(number) { key = number; chosen = -1; fillMatches(); later(); }
  pick.addEventListener("change", () => choose(Number(pick.value)));
  find.addEventListener("input", fillKeys);
  function fillMatches() {
    list.textContent = "";
    let left = 300;
    data.matches.forEach((match, number) => {
      if (left <= 0 || (key >= 0 && data.key[match.marks[0]] !== key)) return;
      left--;
      const button = document.createElement("button");
      button.textContent = (number + 1) + ". " + when(match.first, 1) + (data.keys.length > 1 ? "  " + data.keys[data.key[match.marks[0]]] : "");
      button.style.borderLeftColor = colours["c" + number % 8];
      button.addEventListener("click", () => {
        chosen = chosen === number ? -1 : number;
        const end = match.window ? Math.max(match.window[1], match.last) : match.last, room = Math.max(1, end - match.first) * 0.3;
        if (chosen >= 0) move(match.first - room, end + room); else later();
      });
      list.appendChild(button);
    });
  }
  document.getElementById("in").addEventListener("click", () => zoom(0.5, (first + last) / 2));
  document.getElementById("out").addEventListener("click", () => zoom(2, (first + last) / 2));
  document.getElementById("left").addEventListener("click", () => pan(-0.3));
  document.getElementById("right").addEventListener("click", () => pan(0.3));
  document.getElementById("all").addEventListener("click", () => { chosen = -1; move(data.first, data.last); });
  window.addEventListener("keydown", (event) => {
    if (event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement) return;
    const moves = { ArrowLeft: () => pan(-0.1), ArrowRight: () => pan(0.1), "+": () => zoom(0.7, (first + last) / 2), "-": () => zoom(1.4, (first + last) / 2) };
    if (moves[event.key]) { moves[event.key](); event.preventDefault(); }
  });
  window.addEventListener("resize", later);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readColours(); fillMatches(); later(); });
  readColours(); fillKeys(); fillMatches(); draw();
  window.fykeTimeline = { pan, zoom, choose, point, x, y, view: () => [first, last], hovered: () => hover };
})();
