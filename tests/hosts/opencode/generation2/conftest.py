"""What runs the stand-in for OpenCode 2."""

from __future__ import annotations

import os
import shutil

import pytest


@pytest.fixture
def runtime() -> str:
    """Node."""
    node = shutil.which("node")
    if node is None:
        if os.environ.get("CI"):
            pytest.fail("CI needs node")
        pytest.skip("node is not on PATH")
    return node
