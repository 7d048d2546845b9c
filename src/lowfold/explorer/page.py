"""The page: its modules joined into one script, and a scene with it in one file that works from disk.

The modules in `page/` are plain JavaScript. They are joined in the order of their imports into one scope, so that the
file needs no server and no build: a module may import by name from others beside it, and no two may declare the same
name at the top. The policy in the page allows this one script and this one style by their hashes, and no request.
"""

from __future__ import annotations

import base64
import hashlib
import re
import zlib
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

from lowfold.errors import BackendError
from lowfold.estimator import tell_share
from lowfold.explorer.scene import Scene
from lowfold.model_file.container import write_whole

FOLDER = Path(__file__).with_name("page")
ENTRY = "main"
IMPORT = re.compile(r'^import \{([^}]*)\} from "\./(\w+)\.js";\n', re.MULTILINE)
DECLARED = re.compile(r"^(export )?(?:async )?(?:function\*?|class|const|let) (\w+)", re.MULTILINE)
CHUNK = 6_000_000  # bytes of a scene in one element: a multiple of 3, and far below the longest string of a browser
COMPRESSION, GZIP = 1, 31  # coordinates hardly shrink, images and neighbours do, at once; zlib's name of the format


def write_page(path: Any, scene: Scene) -> None:
    """Writes a scene to one self-contained HTML file at path, whole or not at all.

    It opens from disk and asks the network for nothing.
    """
    before, after = page_parts()
    packed = _compressed(scene.pack())

    def content(file: BinaryIO) -> None:
        file.write(before.encode())
        for begin in range(0, len(packed), CHUNK):
            file.write(b'<script type="application/octet-stream">')
            file.write(base64.b64encode(packed[begin : begin + CHUNK]))
            file.write(b"</script>\n")
        file.write(after.encode())

    write_whole(path, content)


def _compressed(content: bytes) -> bytes:
    squeeze, view = zlib.compressobj(COMPRESSION, wbits=GZIP), memoryview(content)
    parts = []
    for begin in range(0, len(view), CHUNK):
        parts.append(squeeze.compress(view[begin : begin + CHUNK]))
        tell_share(begin + CHUNK, len(view))
    return b"".join([*parts, squeeze.flush()])


def page_parts(connect: str | None = None) -> tuple[str, str]:
    """The page before and after the place of the scene. connect: the sources that it may reach, where a server is."""
    script, style = bundle(), (FOLDER / "page.css").read_text(encoding="utf-8")
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; img-src data: blob:; "
        f"connect-src {connect or chr(39) + 'none' + chr(39)}; base-uri 'none'; form-action 'none'"
    )
    template = (FOLDER / "index.html").read_text(encoding="utf-8")
    before, after = template.split("<!-- scene -->", 1)
    before = before.replace("<!-- policy -->", f'<meta http-equiv="Content-Security-Policy" content="{policy}">', 1)
    before = before.replace("<!-- style -->", f"<style>{style}</style>", 1)
    if connect is not None:
        before = before.replace("<body>", '<body data-server="1">', 1)
    return before, after.replace("<!-- script -->", f"<script>{script}</script>", 1)


@cache
def bundle() -> str:
    """Every module that the page needs as one script, each after those that it imports."""
    ordered: dict[str, str] = {}
    _visit(ENTRY, ordered, ())
    owners: dict[str, str] = {}
    for name, source in ordered.items():
        for _, declared in DECLARED.findall(source):
            if declared in owners:
                raise BackendError(f"{name}.js and {owners[declared]}.js both declare {declared!r}. Rename one.")
            owners[declared] = name
    parts = [re.sub(r"^export ", "", IMPORT.sub("", source), flags=re.MULTILINE) for source in ordered.values()]
    joined = "(() => {\n'use strict';\n" + "\n".join(parts) + "\n})();\n"
    if re.search(r"^\s*(import|export)\b", joined, re.MULTILINE) or "</script" in joined or "<!--" in joined:
        raise BackendError("A module of the page imports or exports in another way than by name, or holds a tag's end.")
    return joined


def _visit(name: str, ordered: dict[str, str], above: tuple[str, ...]) -> None:
    if name in ordered:
        return
    if name in above:
        raise BackendError(f"Modules of the page import each other in a circle: {' > '.join([*above, name])}.")
    source = (FOLDER / f"{name}.js").read_text(encoding="utf-8")
    for names, other in IMPORT.findall(source):
        _visit(other, ordered, (*above, name))
        exported = {declared for export, declared in DECLARED.findall(ordered[other]) if export}
        missing = {part.strip() for part in names.split(",") if part.strip()} - exported
        if missing:
            raise BackendError(f"{name}.js imports {', '.join(sorted(missing))}, which {other}.js does not export.")
    ordered[name] = source


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
