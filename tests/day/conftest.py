"""Where the drivers of the hosts are: each in the folder of its host's own tests."""

from __future__ import annotations

from day_paths import add_host_folders

add_host_folders()
