import java.io.BufferedReader;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.cep.CEP;
import org.apache.flink.cep.functions.PatternProcessFunction;
import org.apache.flink.cep.pattern.Pattern;
import org.apache.flink.cep.pattern.conditions.IterativeCondition;
import org.apache.flink.cep.pattern.conditions.SimpleCondition;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.util.Collector;

/**
 * The patterns of bench/peer_cases.py in Flink CEP, over events that lie in memory.
 *
 * <p>Arguments: a file of events, the shape of the pattern, its window, the parallelism. A line "run" on standard
 * input runs the job and prints its seconds and matches; "rows FILE" writes the matches as well.
 */
public final class FlinkPeer {
    /** An event; public fields make it a type that Flink serializes without reflection at run time. */
    public static final class Event {
        public long t;
        public int kind;
        public long key;
        public double x;
        public double y;

        public Event() {}
    }

    private static long[] t;
    private static int[] kind;
    private static long[] key;
    private static double[] x;
    private static double[] y;
    private static final LongAdder MATCHES = new LongAdder();
    // From the first event read to the last one matched: starting and ending a job do not count.
    private static final AtomicLong BEGIN = new AtomicLong();
    private static final AtomicLong END = new AtomicLong();
    private static List<long[]> rows;

    private FlinkPeer() {}

    public static void main(String[] arguments) throws Exception {
        read(Path.of(arguments[0]));
        String shape = arguments[1];
        long window = Long.parseLong(arguments[2]);
        int parallelism = Integer.parseInt(arguments[3]);
        System.out.println("ready");
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            boolean record = line.startsWith("rows ");
            rows = record ? Collections.synchronizedList(new ArrayList<>()) : null;
            MATCHES.reset();
            BEGIN.set(Long.MAX_VALUE);
            END.set(Long.MIN_VALUE);
            execute(shape, window, parallelism);
            double seconds = (END.get() - BEGIN.get()) / 1e9;
            if (record) {
                write(Path.of(line.substring(5)));
            }
            System.out.println(seconds + " " + MATCHES.sum());
        }
    }

    private static void execute(String shape, long window, int parallelism) throws Exception {
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.createLocalEnvironment(parallelism);
        environment.getConfig().enableObjectReuse();
        boolean typed = !shape.equals("rising");
        DataStream<Event> events =
                environment
                        .fromSequence(0, t.length - 1)
                        .setParallelism(1)
                        .filter(row -> !typed || kind[(int) (long) row] < 3)
                        .setParallelism(1)
                        .map(FlinkPeer::event)
                        .setParallelism(1)
                        .assignTimestampsAndWatermarks(
                                WatermarkStrategy.<Event>forMonotonousTimestamps()
                                        .withTimestampAssigner((event, before) -> event.t))
                        .setParallelism(1);
        // A window holds what is at most so far apart; Flink's holds what is less.
        Pattern<Event, ?> pattern = pattern(shape).within(Duration.ofMillis(window + 1));
        boolean keyed = !shape.equals("keyless");
        CEP.pattern(events.keyBy(event -> keyed ? event.key : 0L), pattern)
                .inEventTime()
                .process(new Found())
                .sinkTo(new DiscardingSink<>());
        environment.execute();
    }

    private static Event event(long row) {
        int at = (int) row;
        if (BEGIN.get() == Long.MAX_VALUE) {
            BEGIN.set(System.nanoTime());
        }
        Event event = new Event();
        event.t = t[at];
        event.kind = kind[at];
        event.key = key[at];
        event.x = x[at];
        event.y = y[at];
        return event;
    }

    private static Pattern<Event, ?> pattern(String shape) {
        switch (shape) {
            case "next":
                return Pattern.<Event>begin("a").where(is(0)).followedBy("b").where(is(1)).followedBy("c").where(is(2));
            case "absence":
                return Pattern.<Event>begin("a").where(is(0)).notFollowedBy("c").where(is(2)).followedBy("b").where(is(1));
            case "any":
            case "keyless":
            case "hot":
                return Pattern.<Event>begin("a")
                        .where(is(0))
                        .followedByAny("b")
                        .where(new After(1, "a"))
                        .followedByAny("c")
                        .where(new After(2, "b"));
            case "rising":
                return Pattern.<Event>begin("a")
                        .where(new Rising())
                        .oneOrMore()
                        .consecutive()
                        .next("b")
                        .where(SimpleCondition.of(event -> event.y < 150));
            default:
                throw new IllegalArgumentException(shape);
        }
    }

    private static SimpleCondition<Event> is(int number) {
        return SimpleCondition.of(event -> event.kind == number);
    }

    /** An event of a kind, with a condition on the one before it. */
    private static final class After extends IterativeCondition<Event> {
        private final int kind;
        private final String before;

        After(int kind, String before) {
            this.kind = kind;
            this.before = before;
        }

        @Override
        public boolean filter(Event event, Context<Event> context) throws Exception {
            if (event.kind != kind) {
                return false;
            }
            for (Event earlier : context.getEventsForPattern(before)) {
                return earlier.x < event.y * 0.2;
            }
            return false;
        }
    }

    /** A price divisible by 500, then prices that rise. */
    private static final class Rising extends IterativeCondition<Event> {
        @Override
        public boolean filter(Event event, Context<Event> context) throws Exception {
            Event last = null;
            for (Event earlier : context.getEventsForPattern("a")) {
                last = earlier;
            }
            return last == null ? event.x % 500 == 0 : event.x > last.x;
        }
    }

    /** Counts matches, and keeps them where they are asked for. */
    private static final class Found extends PatternProcessFunction<Event, Long> {
        @Override
        public void processMatch(Map<String, List<Event>> match, Context context, Collector<Long> out) {
            MATCHES.increment();
            List<long[]> kept = rows;
            if (kept != null) {
                kept.add(numbers(match));
            }
            out.collect(match.get("a").get(0).t);
        }

        @Override
        public void close() {
            END.accumulateAndGet(System.nanoTime(), Math::max);
        }

        private static long[] numbers(Map<String, List<Event>> match) {
            List<Event> group = match.get("a");
            long first = group.get(0).t;
            long b = match.get("b").get(0).t;
            if (match.containsKey("c")) {
                return new long[] {first, b, match.get("c").get(0).t};
            }
            return kindless(group) ? new long[] {first, group.size(), b} : new long[] {first, b};
        }

        private static boolean kindless(List<Event> group) {
            return group.get(0).kind < 0;
        }
    }

    private static void read(Path file) throws Exception {
        try (DataInputStream data = new DataInputStream(new BufferedInputStream(Files.newInputStream(file), 1 << 20))) {
            int count = (int) data.readLong();
            t = new long[count];
            kind = new int[count];
            key = new long[count];
            x = new double[count];
            y = new double[count];
            for (int row = 0; row < count; row++) {
                t[row] = data.readLong();
                kind[row] = (int) data.readLong();
                key[row] = data.readLong();
                x[row] = data.readDouble();
                y[row] = data.readDouble();
            }
        }
    }

    private static void write(Path file) throws Exception {
        try (DataOutputStream data = new DataOutputStream(new BufferedOutputStream(Files.newOutputStream(file)))) {
            for (long[] row : rows) {
                for (long number : row) {
                    data.writeLong(number);
                }
            }
        }
    }
}
