"""What code in any language reaches: modules it loads, hosts it talks to, files it sends."""

from __future__ import annotations

import re
from collections.abc import Iterable

from . import files
from .places import is_loopback, judge_host
from .record import join
from .shell import Shell
from .values import NETWORK

NETWORKS = re.compile(
    r"\b(urlopen|urlretrieve|requests|httpx2?|aiohttp|http\.client|HTTPS?Connection|urllib3?"
    r"|socket\w*|smtplib|ftplib|telnetlib|imaplib|poplib|nntplib|xmlrpc|websockets?|open_connection"
    r"|paramiko|pycurl|boto3|niquests|treq)\b"
)
"""Modules and functions of Python that open connections."""
_TALKS = re.compile(
    r"(?i)\b(https?|net|fetch|socket|request|axios|got|undici|dgram|tls|LWP|HTTP::Tiny|INET|curl\w*"
    r"|connect\w*|open-uri|TCPSocket|fsockopen|Net::\w+|WebSocket|XMLHttpRequest|stream_socket\w*"
    r"|file_get_contents|fopen|URI|urlopen|get|post)\b"
)
_ADDRESS = re.compile(r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?![\w.])")
_OCTETS = re.compile(
    r"\b(\d{1,3})['\"]?\s*,\s*['\"]?(\d{1,3})['\"]?\s*,\s*['\"]?(\d{1,3})['\"]?"
    r"\s*,\s*['\"]?(\d{1,3})\b"
)
_LOADS = re.compile(
    r"\b(?:require|require_relative|import|include|include_once|require_once|load|dofile|loadfile"
    r"|do|use|source|from|importScripts|open|readFileSync|run_path|slurp|file)\b\s*\(?\s*"
    r"[\"'`]([^\"'`\n]{1,200})[\"'`]"
)
_ENDINGS = ("", ".js", ".mjs", ".cjs", ".rb", ".pm", ".pl", ".lua", ".php", ".py", "/index.js")
_RUNS = re.compile(r"\b(eval|exec|load\w*|require\w*|import|include\w*|do\w*|use|source|run\w*)\b")
_SENDS = re.compile(
    r"(?i)(\.(post|put|patch|write|send|end|sendall|upload\w*|append)\s*\(|POST|PUT|PATCH|sendall"
    r"|Net::HTTP::P|CURLOPT_POST|curl_setopt|multipart|FormData|sendmail|smtp|nodemailer)"
)
_READS = re.compile(
    r"(readFile\w*|createReadStream|File\.(read|open|binread)|IO\.read\w*|file_get_contents\s*\(\s*"
    r"['\"](?!https?:|php:)|slurp|io\.(open|lines)|open\s*\(?\s*(my\s+)?\$?\w+,?\s*['\"]<|read_text"
    r"|read_bytes|\bopen\s*\([^)]{0,120}\)\s*\.read|fread|CURLFile|form-data|Bun\.file|Deno\.read\w*)"
)


def judge_hosts(code: str, strings: Iterable[str], shell: Shell, command: str) -> None:
    """Note the hosts among ``strings`` that may not be reached by ``code``."""
    if not _TALKS.search(code):
        return
    for string in strings:
        judge_host(string, shell, command)
    for address in _ADDRESS.findall(code):
        judge_host(address, shell, command)
    for octets in _OCTETS.findall(code):
        judge_host(".".join(octets), shell, command)


def judge_sending(code: str, strings: Iterable[str], shell: Shell, command: str) -> None:
    """Ask if ``code`` reads a file and sends something to another machine."""
    if not (_SENDS.search(code) and _READS.search(code) and _TALKS.search(code)):
        return
    hosts = [m[1] for s in strings if (m := re.search(r"://(\[[^\]]+\]|[^/:\s]+)", s))]
    if hosts and all(map(is_loopback, hosts)):
        return
    shell.record.effect("send", hosts[0] if hosts else "")
    shell.record.add("ask", f"{command} may send a file to {hosts[0] if hosts else 'a host'}")


def judge_loading(code: str, shell: Shell, command: str) -> None:
    """Ask if ``code`` runs a file that this command fetched."""
    if not shell.files or not _RUNS.search(code):
        return
    for path in _LOADS.findall(code):
        for ending in _ENDINGS:
            if NETWORK in shell.files.get(join(shell.cwd, path + ending), ""):
                shell.record.add("ask", f"{command} runs {path}, which came over the network")


def judge_repository(string: str, shell: Shell, command: str) -> None:
    """Ask about a path in a repository's own folder that code changes or deletes."""
    if len(string) < 500 and files.in_repository(string) and " " not in string:
        files.delete(string, shell, command)
