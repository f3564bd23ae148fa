"""A stand-in for hatchling: builds a ``src`` folder without any library.

The tests have no network, and pip and uv take what builds a project from a package index. This is
packed into a wheel of that name (see ``newcomer``). What hatchling itself makes of a generated
plugin is checked by ``meta.scaffold_check``.
"""

import tarfile
import tomllib
import zipfile
from pathlib import Path


def _project():
    return tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["project"]


def _stem(project):
    return f"{project['name'].replace('-', '_')}-{project['version']}"


def _metadata(project):
    lines = [
        "Metadata-Version: 2.1",
        f"Name: {project['name']}",
        f"Version: {project['version']}",
        f"Summary: {project.get('description', '')}",
        *(f"Requires-Dist: {one}" for one in project.get("dependencies", [])),
    ]
    return "\n".join(lines) + "\n"


def _points(project):
    groups = project.get("entry-points", {})
    return "".join(
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in table.items())
        for group, table in groups.items()
    )


def _wheel(folder, files):
    project = _project()
    info = f"{_stem(project)}.dist-info"
    files = files | {
        f"{info}/METADATA": _metadata(project),
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": _points(project),
    }
    files[f"{info}/RECORD"] = "".join(f"{name},,\n" for name in [*files, f"{info}/RECORD"])
    name = f"{_stem(project)}-py3-none-any.whl"
    with zipfile.ZipFile(Path(folder) / name, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    return name


def _source():
    return Path("src") if Path("src").exists() else Path()


def build_wheel(folder, config_settings=None, metadata_directory=None):
    """A wheel of what is below ``src``."""
    found = [file for file in sorted(Path("src").rglob("*")) if file.is_file()]
    kept = [file for file in found if file.suffix != ".pyc" and "egg-info" not in str(file)]
    return _wheel(folder, {str(f.relative_to("src")): f.read_text("utf-8") for f in kept})


def build_editable(folder, config_settings=None, metadata_directory=None):
    """A wheel that points at ``src``, or at the project's folder if it has none."""
    return _wheel(folder, {f"_{_stem(_project())}.pth": f"{_source().resolve()}\n"})


def build_sdist(folder, config_settings=None):
    """An archive of the repository."""
    stem = _stem(_project())
    with tarfile.open(Path(folder) / f"{stem}.tar.gz", "w:gz") as archive:
        for name in ("pyproject.toml", "README.md", "LICENSE", "src"):
            if Path(name).exists():
                archive.add(name, f"{stem}/{name}")
        Path(folder, "PKG-INFO").write_text(_metadata(_project()), "utf-8")
        archive.add(Path(folder, "PKG-INFO"), f"{stem}/PKG-INFO")
    Path(folder, "PKG-INFO").unlink()
    return f"{stem}.tar.gz"
