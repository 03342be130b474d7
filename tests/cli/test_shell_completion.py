import shutil
import subprocess

import pytest

from cardqp.cli.main import main
from cardqp.cli.shell_completion import SOLVED, list_commands
from cardqp.methods import METHODS

COMMANDS = {command.name: command for command in list_commands()}


def script(capsys, shell):
    assert main(["completion", shell]) == SOLVED
    return capsys.readouterr().out


@pytest.fixture
def completions(capsys, tmp_path):
    """What bash offers after some words."""
    text = script(capsys, "bash")
    for name in ("data.csv", "data.txt", "other file.csv"):
        (tmp_path / name).touch()

    def offer(*words):
        quoted = " ".join(f"'{word}'" for word in ("cardqp", *words))
        code = (
            f"{text}\nCOMP_WORDS=({quoted})\nCOMP_CWORD={len(words)}\n_cardqp\n"
            'printf "%s\\n" "${COMPREPLY[@]}"'
        )
        run = subprocess.run(
            ["bash", "-u", "-c", code],
            capture_output=True,
            text=True,
            check=True,
            cwd=tmp_path,
        )
        assert run.stderr == ""
        return run.stdout.split("\n")[:-1]

    return offer


bash = pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not here")


@bash
def test_commands(completions):
    assert completions("") == [*COMMANDS, "--help", "--version"]
    assert completions("re") == ["reproduce"]
    assert completions("nonsense") == [""]


@bash
def test_options(completions):
    assert completions("solve", "x.npz", "--ti") == ["--time-limit"]
    assert completions("portfolio", "--m") == [
        "--max-assets",
        "--min-weight",
        "--max-weight",
        "--missing-values",
    ]
    for name, command in COMMANDS.items():
        assert completions(name, "--") == [w for w in command.words if w[:2] == "--"]


@bash
def test_values(completions):
    assert completions("solve", "--method", "") == list(METHODS)
    assert completions("solve", "--method", "b") == [
        *("best-response", "beck-hallak", "block-decomposition"),
    ]
    assert completions("completion", "") == ["bash", "zsh", "fish"]
    assert completions("solve", "--gap", "") == [""]


@bash
def test_files(completions):
    assert sorted(completions("portfolio", "data")) == ["data.csv", "data.txt"]
    assert completions("portfolio", "--save", "data.c") == ["data.csv"]
    assert completions("portfolio", "oth") == ["other file.csv"]
    assert completions("portfolio", "--short", "data.c") == ["data.csv"]


@bash
def test_the_script_registers_itself(capsys):
    code = f"{script(capsys, 'bash')}\ncomplete -p cardqp"
    run = subprocess.run(
        ["bash", "-c", code], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "complete -o filenames -F _cardqp cardqp"


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_scripts_are_valid(capsys, tmp_path, shell):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not here")
    path = tmp_path / "script"
    path.write_text(script(capsys, shell))
    subprocess.run([shell, "-n", path], check=True)


def test_zsh(capsys):
    lines = script(capsys, "zsh").splitlines()
    assert lines[0] == "#compdef cardqp"
    assert lines[-1] == "compdef _cardqp cardqp"
    text = "\n".join(lines)
    for name, command in COMMANDS.items():
        assert f"        {name})\n            _arguments " in text
        assert f"        '{name}:" in text
        for word in command.words:
            assert f"'{word}[" in text
    assert ":value:(bash zsh fish)'" in text
    assert "'--save[where to write the weights]:file:_files'" in text
    assert "'--short[allow short sales]'" in text
    # An apostrophe ends a quotation and must be escaped.
    assert "'run the paper'" not in text
    assert "paper'\\''s" in text


def test_fish(capsys):
    lines = script(capsys, "fish").splitlines()
    assert all(line.startswith("complete -c cardqp ") for line in lines)
    seen = "complete -c cardqp -n '__fish_seen_subcommand_from portfolio'"
    assert f"{seen} -l save -r -F -d 'where to write the weights'" in lines
    assert f"{seen} -l short -d 'allow short sales'" in lines
    assert f"{seen} -r -F" in lines
    what = "what separates decimals (default what the cells show)"
    assert f"{seen} -l decimal -x -a 'auto . ,' -d '{what}'" in lines
    for name, command in COMMANDS.items():
        assert any(f"-a {name} -d " in line for line in lines)
        own = [line for line in lines if f"_from {name}'" in line]
        for word in command.words:
            flag = f" -l {word[2:]}" if word[:2] == "--" else f" -s {word[1:]}"
            assert any(flag in line for line in own)
