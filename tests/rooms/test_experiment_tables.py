"""The tables of an experiment, as other programs read them: Parquet files, and a notebook."""

from __future__ import annotations

import csv
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from hudkit.cli import main
from hudkit.rooms.experiments.parquet_file import parquet_bytes

NOTEBOOK = Path(__file__).parents[2] / "examples" / "12_experiment.ipynb"

ROWS: list[dict[str, Any]] = [
    {"variant": "as it is", "seed": n, "cost": n / 4, "text": "ä" * n, "wide": -n * 10**12}
    | {f"c{k}": k for k in range(20)}
    for n in range(300)
]


def test_the_bytes_of_a_parquet_file_are_those_that_pyarrow_and_duckdb_have_read() -> None:
    """Read by pyarrow 26.0.1 and DuckDB 2.0.1, equal to the rows; other bytes have to be read by them again."""
    written = parquet_bytes(ROWS[0], ROWS)
    digest = "134a36d501f5ad514011449ca0831aeb7671e73c24badd5c1c372a62db99b66d"
    assert hashlib.sha256(written).hexdigest() == digest
    assert written[:4] == written[-4:] == b"PAR1"


def test_pyarrow_reads_what_is_written(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed: nothing of hudkit needs it")
    for rows in (ROWS, ROWS[:1]):
        (tmp_path / "t.parquet").write_bytes(parquet_bytes(ROWS[0], rows))
        assert parquet.read_table(tmp_path / "t.parquet").to_pylist() == rows


@pytest.mark.slow
def test_the_notebook_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    variables: dict[str, Any] = {}
    for cell in cells:
        if cell["cell_type"] == "code":
            assert not cell["outputs"], "kept without outputs"
            exec(compile("".join(cell["source"]), "notebook", "exec"), variables)
    printed = capsys.readouterr().out
    assert "quick tongues" in printed and "±" in printed and "→" in printed
    assert len(list((tmp_path / "pace-results").glob("*.parquet"))) == 8
    with (tmp_path / "pace-results" / "beats.csv").open() as lines:
        assert len(list(csv.DictReader(lines))) == 2 * 3 * 60
    assert main(["rooms", "experiment", "pace.toml", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["before"] == 6
