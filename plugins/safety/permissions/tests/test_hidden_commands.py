"""What bash runs is found: each script makes a real bash create a file by ``touch made``."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hookline.testing import guarded_paths
from hookline_hookspecs import ToolCall
from hookline_permissions.packaged_rules import packaged_rules
from hookline_permissions.rule_set import RuleSet
from hookline_permissions.rules import parse_rule

SCRIPTS = [
    "ls <<E\nE\\\n\ntouch made\nE",
    "ls <<-E\n\tE\ntouch made",
    "ls <<'E' \\\n; touch made\nx\nE",
    "ls <<E\\\nF\nx\nEF\ntouch made",
    "ls << \\\nEF\nx\nEF\ntouch made",
    "ls $(cat <<E\n)\nE\n); touch made",
    'echo "`\\"\'\\" ; touch made ; \\"\'\\"`"',
    "a[$(touch made)]=1",
    "x='a[$(touch made)]'; echo $((x))",
    "for x in 'a[$(touch made)]'; do echo $((x)); done",
    "[[ -v 'a[$(touch made)]' ]]",
    "test -v 'a[$(touch made)]'",
    "printf -v 'a[$(touch made)]' x",
    "f() { echo $(($1)); }; f 'a[$(touch made)]'",
    "ls x\\\n#; touch made",
    "ls ''# ; touch made",
    "echo ${x:=$(touch made)}",
    "ls > >(touch made)",
    "(( $(touch made) 1 )) 2>&1; ls",
    "echo $((  $(touch made) 1 ))",
    "case x in x) touch made;; esac",
    "ls() { touch made; }; ls",
    "echo $'\\'' ; touch made ; echo $'\\''",
    "{ touch made; } | cat",
    "! touch made",
    "time touch made",
    "if touch made; then ls; fi",
    "while touch made; do break; done",
    "ls & touch made",
    "ls\ttouch;\ttouch\tmade",
    "echo a |& touch made",
    "coproc touch made; wait",
    "eval 'touch made'",
    "trap 'touch made' EXIT; ls",
    "bash -c 'touch made'",
    "echo 'touch made' | bash",
    "bash <<< 'touch made'",
    "echo made | xargs touch",
    "find . -maxdepth 0 -exec touch made \\;",
    "env touch made",
    "$(echo touch) made",
    "t=touch; $t made",
    "touc? made; touch made",
]


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize("script", SCRIPTS)
def test_allow_rules_of_other_programs_never_cover_what_bash_runs(
    tmp_path: Path, script: str
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    ran = subprocess.run(
        ["bash", "-c", script], cwd=work, capture_output=True, timeout=20, check=False
    )
    assert (work / "made").exists(), ran.stderr
    texts = ["echo *", "ls *", "cat *", "printf *"]
    given = [parse_rule("allow", f"bash({text})", "config.yaml") for text in texts]
    packaged = [one.rule for one in packaged_rules() if "touch|" not in one.rule.text]
    rules = RuleSet([*given, *packaged])
    paths = guarded_paths(work, tmp_path / ".hookline")
    decision = rules.decide(ToolCall("1", "bash", {"command": script}), paths)
    assert decision.kind != "allow"


@pytest.mark.parametrize(
    "command",
    [
        "cat link/../secret",
        "cat $(echo 'x ../../secret')",
        "cat $(printf '\\x2e./secret')",
        "cat $'id_rsa\\0.txt'",
        "cat .e*",
        "cat *.pem",
        "cat ~root/x",
        "cat <link/../secret",
        "ls > link/../x",
        "git log --output=.git/hooks/x",
        "date -f ~/.netrc",
        "cd link/.. && cat ../secret",
        "cat /usr/share/../../etc/shadow",
    ],
)
def test_allow_rule_of_a_reader_does_not_lead_out(tmp_path: Path, command: str) -> None:
    work = tmp_path / "home" / "work"
    work.mkdir(parents=True)
    (tmp_path / "elsewhere" / "sub").mkdir(parents=True)
    (work / "link").symlink_to(tmp_path / "elsewhere" / "sub")
    for name in (".env", "server.pem", "id_rsa"):
        (work / name).write_text("secret")
    texts = ["cat *", "ls *", "git log *", "date *", "cd *"]
    given = [parse_rule("allow", f"bash({text})", "config.yaml") for text in texts]
    rules = RuleSet([*given, *(one.rule for one in packaged_rules())])
    paths = guarded_paths(work, tmp_path / ".hookline")
    decision = rules.decide(ToolCall("1", "bash", {"command": command}), paths)
    assert decision.kind != "allow"
