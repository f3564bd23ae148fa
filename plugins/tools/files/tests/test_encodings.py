"""Files in the encodings that were usual before Unicode: read, searched and edited."""

from __future__ import annotations

import random
import struct

import pytest
from hookline_hookspecs import ToolError
from support.matrices import sampled

TEXTS = [
    ("gb18030", '# 配置文件\nname = "测试"\n'),
    ("gbk", "你好，世界\n"),
    ("cp932", '# 設定\nname = "テスト"\n'),
    ("euc_jp", "設定ファイル\n"),
    ("cp949", '# 설정\nname = "시험"\n'),
    ("big5", '# 設定檔\nname = "測試"\n'),
    ("cp1251", "Привет, мир\n"),
    ("koi8_r", '# Настройки\nname = "тест"\n'),
    ("cp866", "Все права защищены\n"),
    ("cp1250", "Příliš žluťoučký kůň\n"),
    ("cp1252", "grün – 5 €\n"),
    ("cp1253", "Γειά σου Κόσμε\n"),
    ("cp1254", "Şu köşe yaz köşesi, değiştirmeyin\n"),
    ("cp1255", "זהו קובץ בדיקה. נא לא לשנות אותו.\n"),
    ("cp1256", "هذا ملف اختبار\n"),
    ("cp874", "สวัสดีชาวโลก\n"),
]


@pytest.mark.parametrize(("codec", "text"), TEXTS)
def test_old_encoding_is_read_and_found_and_kept_by_an_edit(bench, codec, text):
    bench.put("a.txt", text.replace("\n", "\r\n").encode(codec) + b"end\r\n")
    shown = bench("read_file", path="a.txt")
    lines = [row.split("\t")[1] for row in shown.split("\n")]
    assert lines == [*text.splitlines(), "end"]
    word = text.split()[-1].strip('"')
    assert word in bench("grep", pattern=word)
    answer = bench("edit_file", path="a.txt", old_string="end", new_string=f"{word} end")
    assert answer == "Edited a.txt: 1 replacement(s), strategy exact"
    expected = text.replace("\n", "\r\n").encode(codec) + f"{word} end\r\n".encode(codec)
    assert (bench.root / "a.txt").read_bytes() == expected


UNMARKED = ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"]
WORDS = [
    "Hello, world. This is a test.\n",
    '{"name": "test", "value": 5}\n',
    "grün – 5 €\n",
    "Привет, мир\n",
    "Γειά σου, Κόσμε\n",
    "你好，世界。这是一个配置文件\n",
    "設定ファイルを読む\n",
    "이것은 시험 파일입니다\n",
    "مرحبا بالعالم\n",
    "สวัสดีชาวโลก\n",
    "emoji 😀 here\n",
]


@pytest.mark.parametrize("codec", UNMARKED)
@sampled("text", WORDS, 3, rest="long")
@pytest.mark.parametrize("count", [1, 400])
def test_wide_unicode_without_a_mark_is_read_and_found_and_kept_by_an_edit(
    bench, codec, text, count
):
    text = text * count
    bench.put("a.txt", (text.replace("\n", "\r\n") + "end\r\n").encode(codec))
    shown = bench("read_file", path="a.txt")
    assert shown.split("\n")[0] == f"1\t{text.splitlines()[0]}"
    word = text.split()[-1]
    assert word in bench("grep", pattern=word)
    answer = bench("edit_file", path="a.txt", old_string="end", new_string=f"{word} end")
    assert answer == "Edited a.txt: 1 replacement(s), strategy exact"
    expected = text.replace("\n", "\r\n") + f"{word} end\r\n"
    assert (bench.root / "a.txt").read_bytes() == expected.encode(codec)


@pytest.mark.parametrize(
    ("codec", "text"),
    [
        ("iso2022_jp", "設定ファイル\nname = テスト\n"),
        ("iso2022_jp", "Subject: こんにちは、世界\n"),
        ("iso2022_jp_2", "日本語と中文简体\n"),
        ("iso2022_jp_ext", "ﾃｽﾄ です\n"),
        ("iso2022_kr", "안녕하세요 세계\n"),
    ],
)
def test_encoding_with_escapes_is_read_and_found_and_kept_by_an_edit(bench, codec, text):
    bench.put("a.txt", (text + "end\n").encode(codec))
    assert bench("read_file", path="a.txt").split("\n")[0] == f"1\t{text.splitlines()[0]}"
    word = text.split()[-1]
    assert word in bench("grep", pattern=word)
    bench("edit_file", path="a.txt", old_string="end", new_string=f"{word} end")
    assert (bench.root / "a.txt").read_bytes() == f"{text}{word} end\n".encode(codec)


def test_long_file_in_wide_unicode_without_a_mark_is_read_in_parts(bench):
    lines = [f"Zeile {number}: Grüße an alle" for number in range(80_000)]
    bench.put("a.txt", "\n".join(lines).encode("utf-16-le"))
    shown = bench("read_file", path="a.txt", start_line=50_000, end_line=50_001)
    assert shown.split("\n")[:2] == [f"{n + 1}\t{lines[n]}" for n in (49_999, 50_000)]


BINARIES = [
    bytes(range(256)),
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0",
    b"MZ\x90\0\x03\0\0\0\x04\0\0\0\xff\xff\0\0\xb8\0\0\0",
    b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0>\0\x01\0\0\0",
    b"PK\x03\x04\x14\0\0\0\x08\0" + bytes(range(0, 250, 7)),
    b"SQLite format 3\0\x10\0\x01\x01\0@  \0\0\0\x02",
    struct.pack("<40h", *range(-400, 400, 20)),
    struct.pack("<40i", *range(0, 40_000, 1_000)),
    struct.pack("<30f", *[number / 7 for number in range(30)]),
    random.Random(5).randbytes(300),
    random.Random(6).randbytes(4_000),
    b"text\0and more text\0",
    b"\0" * 64,
]


@pytest.mark.parametrize("data", BINARIES)
def test_binary_file_stays_binary(bench, data):
    bench.put("a.bin", data)
    with pytest.raises(ToolError, match="is a binary file"):
        bench("read_file", path="a.bin")
    assert "a.bin" not in bench("grep", pattern=".")
    with pytest.raises(ToolError):
        bench("edit_file", path="a.bin", old_string="e", new_string="x")
    assert (bench.root / "a.bin").read_bytes() == data


def test_escapes_of_a_terminal_are_no_encoding(bench):
    bench.put("a.txt", "\x1b(B\x1b[31mred\x1b[0m\n")
    bench("edit_file", path="a.txt", old_string="red", new_string="blue")
    assert (bench.root / "a.txt").read_bytes() == b"\x1b(B\x1b[31mblue\x1b[0m\n"


def test_old_encoding_that_is_not_certain_is_noted(bench):
    bench.put("a.txt", "x = да\n".encode("cp1251"))
    shown = bench("read_file", path="a.txt")
    assert shown.startswith("[a.txt is not UTF-8 and its encoding is not certain; read as ")
    answer = bench("edit_file", path="a.txt", old_string="x", new_string="שלום")
    assert "its encoding is not certain" in answer


def test_edit_that_an_old_encoding_cannot_hold_names_the_character(bench):
    bench.put("a.txt", "Привет, мир\n".encode("koi8_r"))
    with pytest.raises(ToolError, match=r"stored as koi8_r, which has no '你'"):
        bench("edit_file", path="a.txt", old_string="мир", new_string="你")


def test_rewrite_that_an_old_encoding_cannot_hold_becomes_utf8_and_says_so(bench):
    bench.put("a.txt", "Привет, мир\n".encode("koi8_r"))
    bench("read_file", path="a.txt")
    answer = bench("write_file", path="a.txt", content="你好\n")
    assert "a.txt was koi8_r, which lacks characters of the content; it is UTF-8 now" in answer
    assert (bench.root / "a.txt").read_text(encoding="utf-8") == "你好\n"


def test_bytes_of_no_known_encoding_are_read_as_latin1_with_a_note(bench):
    bench.put("a.txt", b"caf\xe9 \x81")
    note = "[a.txt is not UTF-8 and its encoding is not certain; read as latin-1]"
    assert bench("read_file", path="a.txt") == f"{note}\n1\tcafé \x81"
