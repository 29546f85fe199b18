"""Custom sections: text that a user or an agent wrote, run in a sandbox before a frame is composed."""

from hudkit.sections.sandboxed.definition import FIELDS, NAME, Definition, check, parse
from hudkit.sections.sandboxed.files import Found, Places, Shelf, trust
from hudkit.sections.sandboxed.forms import Made, made_of
from hudkit.sections.sandboxed.prepare import Bench, Outcome, Preparation
from hudkit.sections.sandboxed.project_file import ProjectFile, ProjectTable, project_table, trust_project
from hudkit.sections.sandboxed.sandbox import Allowed, Sandbox, SandboxError, missing
from hudkit.sections.sandboxed.seen import given

__all__ = [
    "FIELDS",
    "NAME",
    "Allowed",
    "Bench",
    "Definition",
    "Found",
    "Made",
    "Outcome",
    "Places",
    "Preparation",
    "ProjectFile",
    "ProjectTable",
    "Sandbox",
    "SandboxError",
    "Shelf",
    "check",
    "given",
    "made_of",
    "missing",
    "parse",
    "project_table",
    "trust",
    "trust_project",
]
