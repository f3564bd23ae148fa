"""Files in the encodings that were usual before Unicode: read, searched and edited."""

from __future__ import annotations

import pytest
from hookline_hookspecs import ToolError

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
