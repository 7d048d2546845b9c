"""The demo: each section draws its figure, and the page shows it with a sentence."""

from __future__ import annotations

import base64
import gzip
import re
import socket
from dataclasses import replace

import pytest

from lowfold import METHODS, ParameterError

pytest.importorskip("matplotlib")

from lowfold.cli import main, progress
from lowfold.demo import page, planned, run
from lowfold.demo.page import SECTIONS
from lowfold.demo.rolls import spiral
from lowfold.explorer.pack import unpack

QUICK = ("spiral", "digits-images", "digits-times", "digits-pairs", "eurodist", "disks", "cheeger", "homotopy")


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    """Whoever asks the network for anything fails."""

    def refuse(*_):
        raise AssertionError("the demo is offline")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.mark.parametrize("name", QUICK)
def test_a_section_is_a_picture_and_a_sentence(name, tmp_path, capsys):
    text = run(tmp_path, only=name).read_text(encoding="utf-8")
    assert f'<img src="{name}.png"' in text
    assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    assert not re.search(r"(src|href)=.?(https?:)?//", text), "the page needs no network either"
    assert len(re.findall("<figcaption>(.{60,})</figcaption>", text)) == 1


def test_the_spiral_is_put_in_order_by_diffusion_alone():
    figure, sentence, _ = spiral()
    titles = [ax.get_title() for ax in figure.axes]
    linear, diffusion = (float(title.split(":")[1]) for title in titles[1:3])
    assert abs(linear) < 0.5
    assert diffusion > 0.9999
    assert "1.0000" in sentence


def test_the_walk_sees_the_bottleneck_that_lengths_do_not():
    from lowfold.demo.distances import disks

    figure, _, _ = disks()
    ratios = [float(ax.get_title().split("=")[-1]) for ax in figure.axes if "d(B,A)" in ax.get_title()]
    assert max(ratios[:2]) < 1.2
    assert ratios[2] > 2


def test_every_method_stands_in_the_table(tmp_path, capsys):
    assert main(["demo", "-o", str(tmp_path / "new"), "--only", "swiss-roll"]) == 0
    text = (tmp_path / "new" / "index.html").read_text(encoding="utf-8")
    for name in METHODS:
        row = re.search(f"<tr><td>{name}</td>(.*?)</tr>", text)
        assert row, name
        assert "–" not in row.group(1), f"{name} has every score"


def test_the_demo_ends_with_a_page_to_explore_every_method_on_the_digits(tmp_path, capsys):
    text = run(tmp_path, only="explore").read_text(encoding="utf-8")
    assert '<a href="explore.html">' in text
    parts = re.findall(r'octet-stream">([^<]*)</script>', (tmp_path / "explore.html").read_text(encoding="utf-8"))
    header, arrays = unpack(gzip.decompress(b"".join(base64.b64decode(part) for part in parts)))
    assert [panel["method"] for panel in header["panels"]] == list(METHODS)
    assert arrays["pixels"].shape == (1797, 8, 8)
    shown = {panel["method"]: arrays[panel["coordinates"]].shape[1] for panel in header["panels"]}
    assert (shown["diffusion_map"], shown["isomap"], shown["tsne"]) == (10, 10, 2)
    for panel in header["panels"]:
        assert {"trustworthiness", "recall", "labels"} <= set(panel["quality"]), panel["method"]
        assert arrays[panel["trust"]].shape == (1797,)


def test_the_sections_reproduce_the_notes_and_unknown_ones_are_refused(tmp_path):
    assert {*QUICK, "swiss-roll", "digits-methods", "digits-trust"} == {section.name for section in SECTIONS}
    with pytest.raises(ParameterError, match="no section"):
        run(tmp_path, only="nothing")


def test_the_time_of_every_section_is_planned_and_the_comparison_once():
    titles = [section.title for section in SECTIONS]
    assert list(planned()) == [*titles, "The page to explore them"]
    assert set(page.SECONDS) <= set(page.TITLES)
    alone = {name: sum(planned(name).values()) for name in page.TITLES}
    assert all(seconds > 0 for seconds in alone.values())
    assert sum(alone.values()) - sum(planned().values()) == pytest.approx(2 * page.COMPARING)
    assert planned("nothing") == {}


def test_who_listens_hears_of_each_section_before_it_is_drawn(tmp_path, monkeypatch):
    told = []
    for name in ("digits-times", "explore"):
        monkeypatch.setattr(page, "_explored", lambda target: told.append("explored") or "")
        run(tmp_path, only=name, callback=told.append)
    assert told == ["The same map at later times", "The page to explore them", "explored"]


@pytest.mark.parametrize("flags", [[], ["-q"]])
def test_the_demo_says_what_it_drew_and_where_it_is_where_there_is_no_terminal(flags, tmp_path, capsys):
    assert main(["demo", "-o", str(tmp_path), "--only", "spiral", *flags]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    drawn = f"{page.TITLES['spiral']}\n{tmp_path / 'index.html'}: open it in a browser\n"
    assert said.out == ("" if flags else drawn)


def test_a_terminal_sees_the_time_left_of_the_demo(tmp_path, monkeypatch):
    lines, part = [], progress.Progress.part

    def heard(self, *given):
        part(self, *given)
        lines.append(self.line())

    monkeypatch.setattr(progress.Progress, "part", heard)
    monkeypatch.setattr(page, "SECTIONS", [replace(section, draw=spiral) for section in SECTIONS])
    monkeypatch.setattr(page, "_explored", lambda target: "")
    assert main(["demo", "-o", str(tmp_path)]) == 0
    assert len(lines) == len(SECTIONS) + 1
    assert all(line.startswith("demo · ") and line.endswith(" left") for line in lines)
