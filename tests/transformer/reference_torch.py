"""Writes tiny_torch.json, and chat.json for it: what PyTorch gives for networks that reference.py's libraries do not have.

The networks are those of the Python library transformers; tokens are those of its library tokenizers; pooling is done
here, and the question to Qwen3's reranker is put together as its model card does. Our own implementation has no part in it.

    pip install torch transformers
    python reference_torch.py
"""

import json
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
import transformers as t
from safetensors.numpy import save_file
from tokenizers import Tokenizer

HERE = Path(__file__).parent
TEXTS = [row["text"] for row in json.loads((HERE / "minilm.json").read_text())]
PAIRS = [(row["query"], row["passages"]) for row in json.loads((HERE / "pairs.json").read_text())]
H, LAYERS, HEADS, INNER, POSITIONS = 16, 3, 4, 24, 300


def weight(name, count):
    """As in reference.py."""
    mask, state = (1 << 64) - 1, 0xCBF29CE484222325
    for byte in name.encode():
        state = ((state ^ byte) * 0x100000001B3) & mask
    values = []
    for _ in range(count):
        state = (state * 6364136223846793005 + 1442695040888963407) & mask
        values.append(((state >> 40) / (1 << 24) - 0.5) * 0.5)
    return np.array(values, dtype=np.float32)


def chat():
    """A byte-level tokenizer with the marks that Qwen3 has, and a few merges."""
    printable = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))
    others = [byte for byte in range(256) if byte not in printable]
    letters = {byte: chr(byte) for byte in printable} | {byte: chr(256 + i) for i, byte in enumerate(others)}
    tokens = [letters[byte] for byte in range(256)]
    words = ["yes", "no", "the", "Ġthe", "Ġboards", "Ġroof", "oo", "er", "Ġ1", "Query", "Document", "Instruct"]
    merges = []
    for word in words:
        pieces = list(word)
        while len(pieces) > 1:
            # The leftmost pair that is known, or else the first.
            known = [(i, pair) for i, pair in enumerate(zip(pieces, pieces[1:])) if " ".join(pair) in merges]
            at, pair = known[0] if known else (0, (pieces[0], pieces[1]))
            if " ".join(pair) not in merges:
                merges.append(" ".join(pair))
                tokens.append("".join(pair))
            pieces[at:at + 2] = ["".join(pair)]
    vocab = {token: i for i, token in enumerate(dict.fromkeys(tokens))}
    marks = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<think>", "</think>"]
    expression = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    end = len(vocab)
    return {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [{"id": end + i, "content": mark, "single_word": False, "lstrip": False, "rstrip": False,
                          "normalized": False, "special": i < 3} for i, mark in enumerate(marks)],
        "normalizer": {"type": "NFC"},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": expression}, "behavior": "Isolated", "invert": False},
            {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}]},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": marks[0], "type_id": 0}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {marks[0]: {"id": marks[0], "ids": [end], "tokens": [marks[0]]}}},
        "decoder": None,
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": "",
                  "end_of_word_suffix": "", "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
                  "vocab": vocab, "merges": merges},
    }


SYSTEM = "Judge whether the Document meets the requirements based on the Query and the Instruct provided. Note that the " \
    'answer can only be "yes" or "no".'
BEFORE = f"<|im_start|>system\n{SYSTEM}<|im_end|>\n<|im_start|>user\n"
AFTER = "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"
TASK = "Given a web search query, retrieve relevant passages that answer the query"


def question(tokenizer, query, passage, most):
    ids = lambda text: tokenizer.encode(text, add_special_tokens=False).ids
    before, after = ids(BEFORE), ids(AFTER)
    body = ids(f"<Instruct>: {TASK}\n<Query>: {query}\n<Document>: {passage}")
    return before + body[: most - len(before) - len(after)] + after


MODERN = {"model_type": "modernbert", "hidden_size": H, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS,
          "intermediate_size": INNER, "max_position_embeddings": POSITIONS, "hidden_activation": "gelu", "norm_eps": 1e-5,
          "norm_bias": False, "attention_bias": False, "mlp_bias": False, "local_attention": 8,
          "global_attn_every_n_layers": 3, "global_rope_theta": 160000.0, "local_rope_theta": 10000.0,
          "classifier_pooling": "mean", "classifier_activation": "gelu", "classifier_bias": False, "pad_token_id": 1,
          "bos_token_id": 2, "eos_token_id": 3, "cls_token_id": 2, "sep_token_id": 3}
QWEN = {"model_type": "qwen3", "hidden_size": H, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS,
        "num_key_value_heads": 2, "head_dim": 6, "intermediate_size": INNER, "max_position_embeddings": 4 * POSITIONS,
        "rms_norm_eps": 1e-6, "rope_theta": 1000000.0, "hidden_act": "silu", "attention_bias": False,
        "tie_word_embeddings": True, "use_sliding_window": False, "bos_token_id": None, "eos_token_id": None,
        "pad_token_id": None}
CASES = [
    ("tokenizer.json", "mean", MODERN, "ModernBertModel"),
    ("tokenizer.json", None, MODERN, "ModernBertForSequenceClassification"),
    ("tokenizer.json", None, MODERN | {"classifier_pooling": "cls"}, "ModernBertForSequenceClassification"),
    ("chat.json", "lasttoken", QWEN, "Qwen3Model"),
    ("chat.json", None, QWEN, "Qwen3ForCausalLM"),
    ("chat.json", None, QWEN, "Qwen3ForSequenceClassification"),
]


def pool(states, mode):
    vector = {"mean": states.mean(0), "lasttoken": states[-1]}[mode]
    return vector / np.linalg.norm(vector)


def tiny(name, mode, config, kind):
    tokenizer = Tokenizer.from_file(str(HERE / name))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    rows = tokenizer.get_vocab_size()
    config = config | {"vocab_size": rows, "architectures": [kind]}
    labels = {"num_labels": 1} if kind.endswith("Classification") else {}
    network = getattr(t, kind)(getattr(t, kind.split("For")[0].removesuffix("Model") + "Config")(**config, **labels))
    shapes = {name: list(tensor.shape) for name, tensor in network.state_dict().items() if name != "lm_head.weight"}
    tensors = {}
    for tensor, shape in shapes.items():
        values = weight(tensor, int(np.prod(shape))).reshape(shape)
        tensors[tensor] = values + np.float32(1) if tensor.endswith("orm.weight") else values
    network.load_state_dict({name: torch.tensor(values) for name, values in tensors.items()}, strict=False)
    if kind.endswith("CausalLM"):
        network.tie_weights()
    network = network.eval().to(torch.float64)
    most = config["max_position_embeddings"]

    def run(ids, types=None):
        with torch.no_grad():
            ids = torch.tensor([ids])
            return network(input_ids=ids, attention_mask=torch.ones_like(ids))

    if mode:
        tokenizer.enable_truncation(most)
        vectors = [pool(run(tokenizer.encode(text).ids).last_hidden_state[0].numpy(), mode) for text in TEXTS]
        answers = [[round(float(x) * 1_000_000) for x in vector] for vector in vectors]
    else:
        answers = []
        for query, passages in PAIRS:
            scores = []
            for passage in passages:
                if name == "chat.json":
                    ids = question(tokenizer, query, passage, most)
                else:
                    # The passage is cut first; all queries are short enough.
                    tokenizer.enable_truncation(most, strategy="only_second")
                    ids = tokenizer.encode(query, passage).ids
                logits = run(ids).logits[0]
                if kind.endswith("CausalLM"):
                    last = logits[-1]
                    logit = last[tokenizer.token_to_id("yes")] - last[tokenizer.token_to_id("no")]
                else:
                    logit = logits[0]
                scores.append(float(1 / (1 + np.exp(-float(logit)))))
            answers.append(scores)
    return {"tokenizer": name, "mode": mode, "config": config, "tensors": shapes, "answers": answers}


(HERE / "chat.json").write_text(json.dumps(chat(), ensure_ascii=False, separators=(",", ":")) + "\n")
rows = [tiny(*case) for case in CASES]
text = ",\n".join(json.dumps(row, ensure_ascii=True, separators=(",", ":")) for row in rows)
(HERE / "tiny_torch.json").write_text(f"[\n{text}\n]\n")
