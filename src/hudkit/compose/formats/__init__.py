"""Formats: element trees and plain data as text, and back; `registry` has each by its name."""
