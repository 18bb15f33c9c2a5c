"""Do the processes of a proof give way as their units of systemd say? On this kernel, whatever it divides processors by."""

import os
import subprocess
from pathlib import Path

from deploy.proof.processes import give_way, niceness

SLEEP = ["sleep", "60"]


def test_a_role_gives_way_by_the_weight_of_its_unit() -> None:
    assert {role: niceness(role) for role in ("api", "scheduler", "gateway", "deliverer")} == {
        "api": 0,
        "scheduler": 0,
        "gateway": 5,
        "deliverer": 10,
    }


def test_processes_that_start_together_give_way_each_with_its_session() -> None:
    children = [subprocess.Popen(SLEEP, start_new_session=True) for _ in range(3)]
    try:
        for child in children:
            give_way(child.pid, 5)

        assert {os.getpriority(os.PRIO_PROCESS, child.pid) for child in children} == {os.getpriority(os.PRIO_PROCESS, 0) + 5}
        autogroups = [Path(f"/proc/{child.pid}/autogroup") for child in children]
        assert [one.read_text().split()[-1] for one in autogroups if one.exists()] in ([], ["5"] * 3)
    finally:
        for child in children:
            child.kill()
            child.wait()
