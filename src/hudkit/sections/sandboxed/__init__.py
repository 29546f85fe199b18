"""Custom sections: text that a user or an agent wrote, run in a sandbox before a frame is composed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hudkit.lazy import lazy_names
from hudkit.paths import SectionPaths

if TYPE_CHECKING:
    from hudkit.sections.sandboxed.definitions import (
        SECTION_NAME,
        SectionDefinition,
        SectionFile,
        SectionFiles,
        check_definition,
        parse_definition,
        trust_section,
    )
    from hudkit.sections.sandboxed.inputs import READABLE_FIELDS, section_inputs
    from hudkit.sections.sandboxed.packages import (
        InstalledSection,
        PackagePreparation,
        PackageSections,
        SectionPlugin,
        installed_sections,
        load_section,
    )
    from hudkit.sections.sandboxed.prepare import Sandbox, SandboxOutcome, SectionPreparation
    from hudkit.sections.sandboxed.project_file import ProjectFile, ProjectTable, read_project_table, trust_project
    from hudkit.sections.sandboxed.result_parser import SectionTrees, parse_result
    from hudkit.sections.sandboxed.sandbox import (
        SandboxError,
        SandboxLimits,
        SandboxProcess,
        processor_seconds,
        sandbox_missing,
    )

__all__ = [
    "READABLE_FIELDS",
    "SECTION_NAME",
    "InstalledSection",
    "PackagePreparation",
    "PackageSections",
    "ProjectFile",
    "ProjectTable",
    "Sandbox",
    "SandboxError",
    "SandboxLimits",
    "SandboxOutcome",
    "SandboxProcess",
    "SectionDefinition",
    "SectionFile",
    "SectionFiles",
    "SectionPaths",
    "SectionPlugin",
    "SectionPreparation",
    "SectionTrees",
    "check_definition",
    "installed_sections",
    "load_section",
    "parse_definition",
    "parse_result",
    "processor_seconds",
    "read_project_table",
    "sandbox_missing",
    "section_inputs",
    "trust_project",
    "trust_section",
]

# Most sessions have no custom section.
__getattr__ = lazy_names(
    __name__,
    {
        "definitions": (
            "SECTION_NAME",
            "SectionDefinition",
            "SectionFile",
            "SectionFiles",
            "check_definition",
            "parse_definition",
            "trust_section",
        ),
        "inputs": (
            "READABLE_FIELDS",
            "section_inputs",
        ),
        "packages": (
            "InstalledSection",
            "PackagePreparation",
            "PackageSections",
            "SectionPlugin",
            "installed_sections",
            "load_section",
        ),
        "prepare": ("Sandbox", "SandboxOutcome", "SectionPreparation"),
        "project_file": ("ProjectFile", "ProjectTable", "read_project_table", "trust_project"),
        "result_parser": ("SectionTrees", "parse_result"),
        "sandbox": ("SandboxError", "SandboxLimits", "SandboxProcess", "processor_seconds", "sandbox_missing"),
    },
)
