"""Results to files: written under another name and renamed when complete, so no half file looks whole."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq

from fyke.call.files import first_line, format_of
from fyke.call.row_texts import as_json
from fyke.command.show import print_line
from fyke.errors import SinkError
from fyke.spark.sinks import write_rows

_WRITTEN = ".parquet, .csv, .json, .jsonl or .arrow"
_BATCH = 10_000


def check_sink(path: Path, *, spark: bool = False) -> str:
    """Return the format to write to a path, by how it ends, if it can be written there.

    Raises
    ------
    SinkError
    """
    kind = format_of(path)
    if kind is None or path.suffix == ".gz":
        raise SinkError(f"the output {str(path)!r} ends in none of {_WRITTEN}")
    if spark and kind == "ipc":
        raise SinkError(
            f"Spark does not write {str(path)!r}", remedy="Let it end in .parquet, .csv or .json."
        )
    check_folder(path)
    return kind


def check_folder(path: Path, *, replace: bool = False) -> None:
    """Refuse a path at which no file can be written; a folder of that name is left, unless to ``replace``.

    Raises
    ------
    SinkError
    """
    if path.is_dir() and not replace:
        raise SinkError(f"there is a folder {str(path)!r} already", remedy="Remove it, or give another name.")
    folder = path.parent
    if not folder.is_dir():
        raise SinkError(f"there is no folder {str(folder)!r} to write {path.name!r} to")
    if not os.access(folder, os.W_OK | os.X_OK) or (path.exists() and not os.access(path, os.W_OK)):
        raise SinkError(f"no permission to write {str(path)!r}")


@contextlib.contextmanager
def complete(path: Path) -> Iterator[Path]:
    """Lend a name to write to; when all is written, what is there gets the right name, and else it goes.

    What had that name before stays until then.  Who is stopped while it is written is told so.

    Raises
    ------
    SinkError
        If it cannot be written.
    """
    part = path.with_name(f".part{os.getpid()}.{path.name}")  # it ends as it should, for what looks at that
    old = path.with_name(f".old{os.getpid()}.{path.name}")
    try:
        yield part
        if path.exists() and (part.is_dir() or path.is_dir()):
            os.replace(path, old)  # a folder cannot be replaced in one step
        os.replace(part, path)
    except OSError as error:
        raise SinkError(f"{str(path)!r} cannot be written: {error.strerror or first_line(error)}") from error
    except (KeyboardInterrupt, SystemExit):
        print_line("note", f"{str(path)!r} was not complete, and what there was of it is removed", "dim")
        raise
    finally:
        if old.exists() and not path.exists():
            os.replace(old, path)
        for each in (part, old):
            if each.is_dir():
                shutil.rmtree(each, ignore_errors=True)
            else:
                each.unlink(missing_ok=True)


def write_table(table: pa.Table, path: Path) -> None:
    """Write a table to a file."""
    kind = check_sink(path)
    with complete(path) as part:
        write_part(table, part, kind)


def write_part(table: pa.Table, path: Path, kind: str) -> None:
    """Write a table to a file, as it comes."""
    if kind == "parquet":
        pq.write_table(table, path)
    elif kind == "ipc":
        pa.feather.write_feather(table, path)
    elif kind == "csv":
        pa.csv.write_csv(_flat(table), path)
    else:
        _write_json(table, path)


def write_frame(frame: Any, path: Path) -> None:
    """Write a DataFrame to a folder, as Spark does."""
    kind = check_sink(path, spark=True)
    with complete(path) as part:
        write_rows(frame, kind, str(part.absolute()), {})


def _flat(table: pa.Table) -> pa.Table:
    """Return a table that CSV can hold: events and groups are JSON texts."""
    for number, field in enumerate(table.schema):
        if pa.types.is_nested(field.type) or pa.types.is_binary(field.type):
            texts = [None if each is None else as_json(each) for each in table.column(number).to_pylist()]
            table = table.set_column(number, field.name, pa.array(texts, pa.string()))
    return table


def _write_json(table: pa.Table, path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        for batch in table.to_batches(max_chunksize=_BATCH):
            file.writelines(as_json(row) + "\n" for row in batch.to_pylist())
