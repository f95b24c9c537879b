"""Event streams to try, test and measure Fyke with: seeded, of any size, without a Spark session.

Each module is one workload of the papers that Fyke is built on (``docs/papers.md``), with
``generate(rows, seed=0, ...)`` and the query of that paper as ``QUERY``.  The same parameters and seed give
the same rows.

===============================  ======================================================================
:mod:`~fyke.datasets.rfid`       a shop with shoplifters; returns the readings and who stole what
:mod:`~fyke.datasets.food`       a supply chain with contaminations; returns the events and what they reach
:mod:`~fyke.datasets.stocks`     stock ticks whose prices walk at random
:mod:`~fyke.datasets.companies`  stock events of six companies, with skewed or changing characteristics
:mod:`~fyke.datasets.chemo`      chemotherapy courses: drugs in any order, then blood counts
:mod:`~fyke.datasets.regions`    prices typed by region, with histories to correlate
===============================  ======================================================================

>>> from fyke.datasets import rfid
>>> shop = rfid.generate(1_000, seed=7)
>>> shop.table.column_names
['id', 'tag_id', 'kind', 'ts', 'area', 'product']
"""

from __future__ import annotations

from typing import Any, Protocol

import pyarrow as pa

from fyke.datasets import chemo, companies, food, regions, rfid, stocks
from fyke.datasets.food import Food
from fyke.datasets.rfid import Rfid

__all__ = ["Food", "Rfid", "as_dataframe", "chemo", "companies", "food", "regions", "rfid", "stocks"]


class _Session(Protocol):
    """The part of a SparkSession that is needed, classic or Connect."""

    def createDataFrame(self, data: Any) -> Any: ...


def as_dataframe(spark: _Session, table: pa.Table) -> Any:
    """Return a generated table as a DataFrame of the given Spark session."""
    return spark.createDataFrame(table)
