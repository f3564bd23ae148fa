"""What servers say about windows and waits, in their own words."""

from __future__ import annotations

import email.utils
import time

import pytest
from hookline_providerkit import is_context_too_long, window_in_error
from hookline_providerkit.error_body import error_text, retry_after
from hookline_providerkit.windows import window_in_list

SENTENCES = [
    ("request (9000 tokens) exceeds the available context size (8192 tokens)", 8192),
    ("maximum context length is 131072 tokens. However, you requested 140000 tokens", 131072),
    ("prompt is too long: 210000 tokens > 200000 maximum", 200000),
    ("input length and `max_tokens` exceed context limit: 175272 + 32000 > 200000", 200000),
    ("token count (1050000) exceeds the maximum number of tokens allowed (1048576).", 1048576),
    ("`inputs` must have less than 4095 tokens. Given: 5000", 4095),
    ("`inputs` tokens + `max_new_tokens` must be <= 8192. Given: 9000 `inputs` tokens", 8192),
    ("Prompt contains 40000 tokens, too large for model with 32768 maximum context length", 32768),
    ("Your request exceeded model token limit: 131072 (requested: 140000)", 131072),
    ("InternalError.Algo.InvalidParameter: Range of input length should be [1, 98304]", 98304),
    ("Please reduce the length of the messages. Current length is 9000 while limit is 8192", 8192),
    ("Input tokens exceed the configured limit of 272000 tokens.", 272000),
    ("Prompt tokens (9000) exceed the maximum context length (8192)", 8192),
    ("tokens_limit_reached: Request body too large for gpt-4o model. Max size: 8000 tokens.", 8000),
    ("cannot truncate prompt with n_keep (5000) >= n_ctx (4096)", 4096),
    ("Your input exceeds the context window of this model.", None),
    ("slot context shift is disabled: the context is full", None),
    ("Tokens in prompt exceed the limit of 32k", None),
    ("too many total text bytes", None),
    ("输入 tokens 超过模型最大上下文限制 32768", 32768),
    ("请求的上下文过长，请减少输入", None),
    ("提示词过长", None),
    ("Prompt 超长", None),
    ("輸入超過最大上下文長度", None),
    ("La entrada supera la ventana de contexto", None),
    ("El prompt es demasiado largo", None),
    ("A entrada excede o tamanho máximo do contexto", None),
    ("L'input supera la lunghezza massima del contesto", None),
    ("Die Anfrage ist zu lang für das Kontextfenster des Modells", None),
    ("Le prompt dépasse la fenêtre de contexte", None),
    ("Запрос превышает размер контекста модели", None),
    ("入力がコンテキストウィンドウを超えています", None),
    ("최대 토큰 수를 초과했습니다: 컨텍스트", None),
    ("Giriş bağlam penceresini aşıyor", None),
    ("Przekroczono maksymalną długość kontekstu", None),
    ("Перевищено максимальну довжину контексту", None),
    ("De context is te lang voor dit model", None),
    ("Độ dài ngữ cảnh vượt quá giới hạn", None),
    ("ความยาวบริบทเกินขีดจำกัด", None),
    ("تجاوز طول السياق الحد الأقصى", None),
    ("total number of tokens in the prompt cannot exceed 4081 - received 9132", 4081),
    ("Requested 10000 tokens, which is greater than the max of 8192 tokens", 8192),
    ("The prompt (9214 tokens) does not fit in the context of 8192 tokens", 8192),
    ("the prompt has 9000 tokens but the model only supports 8192", 8192),
    ("Sequence length 9000 > max_position_embeddings 8192", 8192),
    ("input tokens (9000) + max_new_tokens is larger than max_total_tokens 8192", 8192),
    ("Input length 9000 exceeds the maximum length 8192", 8192),
    ("Total tokens of image and text exceed max message tokens", None),
    ("Invalid 'messages[0].content': string too long. Expected a maximum of 10 MB", None),
    ("the max input characters is 20000", None),
    ("failed to find free space in the KV cache", None),
    ("Conversation is too long. Start a new one.", None),
]
OTHERS = [
    "rate limit exceeded: 30000 tokens per min (TPM)",
    "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 40000",
    "max_tokens is too large: 100000. This model supports at most 8192 completion tokens",
    "The context parameter is not supported",
    "Invalid context: missing field",
    "contexto inválido",
    "input image exceeds the maximum size",
    "Invalid 'input[3].call_id': string too long. Expected a string with maximum length 64",
    "Invalid 'prompt_cache_key': string too long. Expected a string with maximum length 64",
    "temperature: Input should be less than or equal to 1",
    "thinking.budget_tokens: Input should be greater than or equal to 1024",
    "This request would exceed your limit of 30000 input tokens per-minute",
    "You exceeded your current quota of tokens",
]


@pytest.mark.parametrize(("message", "window"), SENTENCES)
def test_sentence_about_a_full_window_is_recognized(message, window):
    body = {"error": {"message": message}}
    assert is_context_too_long(body)
    assert window_in_error(body) == window


@pytest.mark.parametrize("message", OTHERS)
def test_sentence_about_something_else_is_not_taken_for_a_full_window(message):
    assert not is_context_too_long({"error": {"message": message}})


def test_error_that_a_gateway_quotes_is_read():
    raw = '{"error": {"message": "the context is full"}}'
    quoting = {"message": "Provider returned error", "metadata": {"raw": raw}}
    for error in (quoting, {"message": raw}):
        assert is_context_too_long({"error": error})


@pytest.mark.parametrize(
    "listed",
    [
        {"data": [{"id": "m", "meta": {"n_ctx_train": 131072, "n_ctx": 4096}}]},
        {"data": [{"id": "m", "capabilities": {"limits": {"max_context_window_tokens": 4096}}}]},
        {"data": [{"id": "m", "context_length": 8192, "top_provider": {"context_length": 4096}}]},
        {"models": [{"name": "models/m", "inputTokenLimit": 4096}]},
        {"data": [{"id": "m", "max_input_tokens": 4096}]},
        {"data": [{"id": "m", "context_length": "4096"}]},
        [{"id": "m", "context_length": 4096}],
        {"data": [{"id": "served-name", "root": "m", "max_model_len": 4096}]},
    ],
)
def test_window_is_found_in_lists_of_any_shape(listed):
    assert window_in_list(listed, "m") == 4096
    assert window_in_list(listed, "other") is None


def test_window_in_a_list_that_is_no_number_python_reads_is_passed_over():
    assert window_in_list({"data": [{"id": "m", "context_length": "9" * 5000}]}, "m") is None


def test_reset_of_a_limit_that_is_not_reached_is_no_wait():
    assert retry_after({"RateLimit-Reset": "3600", "RateLimit-Remaining": "0"}) == 3600
    assert retry_after({"RateLimit-Reset": "3600", "RateLimit-Remaining": "42"}) is None
    assert retry_after({"Retry-After": "5", "RateLimit-Remaining": "42"}) == 5


def test_reset_in_a_combined_header_is_read_as_any_other():
    then = int(time.time()) + 1000
    assert 900 < (retry_after({"RateLimit": f"remaining=0, reset={then}"}) or 0) <= 1000
    assert retry_after({"RateLimit": f"remaining=0, reset={'9' * 400}"}) is None


@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        ("20", 20),
        (" 20 ", 20),
        ("20s", 20),
        ("1.5", 1.5),
        ("2m30s", 150),
        ("500ms", 0.5),
        ("1h", 3600),
        ("-1", None),
        ("nan", None),
        ("inf", None),
        ("soon", None),
        ("", None),
    ],
)
def test_wait_in_a_header_is_read(given, seconds):
    assert retry_after({"retry-after": given}) == seconds


def test_wait_until_a_date_is_read():
    then = time.time() + 1000
    for header in (
        {"retry-after": email.utils.formatdate(then, usegmt=True)},
        {"X-RateLimit-Reset": str(int(then))},
        {"X-RateLimit-Reset": str(int(then * 1000))},
    ):
        assert 900 < (retry_after(header) or 0) <= 1000
        assert 900 < (retry_after({}, {"metadata": {"headers": header}}) or 0) <= 1000


@pytest.mark.parametrize(
    ("body", "seconds"),
    [
        ({"details": [{"@type": "google.rpc.RetryInfo", "retryDelay": "20s"}]}, 20),
        ({"message": "Limit 30000, Used 29000. Please try again in 20s. Visit"}, 20),
        ({"message": "Please try again in 1m26.4s."}, 86.4),
        ({"message": "Rate limited, retry after 20 seconds"}, 20),
        ({"message": "please try again after 2 minutes"}, 120),
        ({"message": "Please try again in 512ms."}, 0.512),
        ({"message": "请在 20 秒后重试"}, 20),
        ({"message": "Bitte in 30 Sekunden erneut versuchen"}, 30),
        ({"message": "Повторите через 15 сек."}, 15),
        ({"message": "Réessayez dans 12 secondes"}, 12),
        ({"retry_after_ms": 900}, 0.9),
        ({"message": "Try again in a while"}, None),
        ({"message": "Unsupported in 2 schemas"}, None),
        (None, None),
    ],
)
def test_wait_in_the_words_of_an_error_is_read(body, seconds):
    assert retry_after({}, body) == (None if seconds is None else pytest.approx(seconds))


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "6m0s"}, 360),
        ({"x-ratelimit-remaining-requests": "9", "x-ratelimit-reset-requests": "6m0s"}, None),
        ({"RateLimit": "limit=10, remaining=0, reset=7"}, 7),
        ({"RateLimit": '"default";r=0;t=9'}, 9),
        ({"RateLimit": '"default";r=5;t=9'}, None),
    ],
)
def test_wait_of_a_limit_that_is_used_up_is_read(headers, seconds):
    assert retry_after(headers) == seconds


@pytest.mark.parametrize(
    "body",
    [
        {"fault": {"faultstring": "no room"}},
        {"Message": "no room"},
        {"success": False, "errMsg": "no room"},
        {"header": {"code": 1, "message": "no room"}},
        {"error": {"details": [{"reason": "no room"}], "status": "X"}},
        {"response": {"error": {"message": "no room"}}},
        {"type": "about:blank", "title": "no room", "status": 503},
    ],
)
def test_words_of_an_error_are_found_wherever_a_gateway_writes_them(body):
    assert error_text(body) == "no room"
