"""Cores and memory that a process may use: those of its control groups, however they are written."""

from __future__ import annotations

import os

import joblib
import pytest

from lowfold.backend import resources

GB = 2**30

# Version 2 in a container, whose group is the root; the same of a service, whose slice has the limit; version 1.
SYSTEMS = {
    "container": ("0::/", "", "cpu.max", "150000 100000"),
    "service": ("0::/work.slice/map.service", "work.slice", "cpu.max", "150000 100000"),
    "its own": ("0::/work.slice/map.service", "work.slice/map.service", "cpu.max", "150000 100000"),
    "of before": ("4:cpu,cpuacct:/jobs/7\n0::/", "cpu,cpuacct/jobs/7", "cpu.cfs_quota_us", "150000"),
    "container of before": ("4:cpu,cpuacct:/docker/7\n5:memory:/docker/7", "cpu", "cpu.cfs_quota_us", "150000"),
}


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """Writes files of a system that has nothing else, with eight cores and 16 GB."""

    def write(path, text):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)

    write("proc/meminfo", f"MemTotal: {32 * GB // 1024} kB\nMemAvailable: {16 * GB // 1024} kB\n")
    monkeypatch.setattr(resources, "ROOT", tmp_path)
    monkeypatch.setattr(joblib, "cpu_count", lambda: 8)
    return write


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_quota_of_every_control_group_limits_the_threads(system, machine):
    groups, folder, file, quota = SYSTEMS[system]
    machine("proc/self/cgroup", groups + "\n")
    machine(f"sys/fs/cgroup/{folder}/cgroup.procs", "")
    assert resources.thread_count(None) == 8
    machine(f"sys/fs/cgroup/{folder}/{file}", quota)
    machine(f"sys/fs/cgroup/{folder}/cpu.cfs_period_us", "100000")
    assert [resources.thread_count(jobs) for jobs in (None, -1, -2, 3)] == [2, 2, 1, 3]


@pytest.mark.parametrize("none", ["max 100000", "-1", ""])
def test_a_quota_that_limits_nothing_is_none(none, machine):
    machine("proc/self/cgroup", "0::/\n")
    for name in ("cpu.max", "cpu.cfs_quota_us", "cpu.cfs_period_us"):
        machine(f"sys/fs/cgroup/{name}", none)
    assert resources.thread_count(None) == 8


def test_the_tightest_limit_of_memory_counts(machine):
    assert resources.available_memory() == 16 * GB
    machine("proc/self/cgroup", "0::/work.slice/map.service\n")
    machine("sys/fs/cgroup/work.slice/map.service/cgroup.procs", "")
    machine("sys/fs/cgroup/work.slice/memory.max", str(8 * GB))
    machine("sys/fs/cgroup/work.slice/memory.current", str(3 * GB))
    assert resources.available_memory() == 5 * GB
    machine("sys/fs/cgroup/work.slice/map.service/memory.max", "max")
    machine("sys/fs/cgroup/work.slice/map.service/memory.current", str(GB))
    assert resources.available_memory() == 5 * GB
    machine("sys/fs/cgroup/work.slice/map.service/memory.max", str(2 * GB))
    assert resources.available_memory() == GB


def test_a_process_that_is_moved_to_another_group_has_its_limits(machine):
    machine("proc/self/cgroup", "0::/before\n")
    machine("sys/fs/cgroup/before/cpu.max", "200000 100000")
    assert resources.thread_count(None) == 2
    machine("sys/fs/cgroup/after/cpu.max", "300000 100000")
    machine("proc/self/cgroup", "0::/after\n")
    assert resources.thread_count(None) == 3
    machine("sys/fs/cgroup/after/cpu.max", "100000 100000")
    assert resources.thread_count(None) == 1


def test_a_system_that_tells_nothing_limits_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(resources, "ROOT", tmp_path)
    assert resources.available_memory() is None
    assert resources.thread_count(None) == joblib.cpu_count()


def test_a_group_that_may_not_be_looked_at_is_one_that_tells_nothing(machine, monkeypatch):
    machine("proc/self/cgroup", "0::/closed/of-mine")
    stat = os.stat

    def refusing(path, *args, **kwargs):
        if "closed" in str(path):
            raise PermissionError(13, "Permission denied", str(path))
        return stat(path, *args, **kwargs)

    monkeypatch.setattr(os, "stat", refusing)
    assert resources.thread_count(None) == 8
    assert resources.available_memory() == 16 * GB
