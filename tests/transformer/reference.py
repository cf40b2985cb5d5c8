"""Writes minilm.json, tiny.json, and tokenizer.json and pairs.json for the latter: what other implementations of the same networks give.

The networks are those of the Python library transformers, in JAX (MPNet in TensorFlow); tokens are those of its
library tokenizers; pooling is done here. Our own implementation has no part in it. The tiny models have weights of a
formula (see `weight`), which the tests repeat.

    pip install 'transformers<5' flax jax tensorflow-cpu tf-keras
    python reference.py FOLDER_OF_ALL_MINILM_L6_V2
"""

import json
import os
import sys
import tempfile
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
from safetensors.numpy import save_file
from tokenizers import Tokenizer
import transformers as t

HERE = Path(__file__).parent

TEXTS = [
    "",
    "a",
    "Where did I park the bicycle?",
    "how do I cancel my gym membership",
    "To end the contract with the fitness club, write to them four weeks before the month is over.",
    "Soak the lentils overnight, fry onion and cumin, then simmer all of it for half an hour.",
    "Café au lait, naïve façade, Ærøskøbing, Łódź, Đorđe: each has marks that the tokenizer takes away or keeps.",
    "Die Besprechung am Dienstag wurde auf 14:30 Uhr verschoben, weil der Zug Verspätung hatte.",
    "東京の会議は来週の月曜日に始まります。",
    "明天下午三点在图书馆见面,请带上笔记本。",
    "내일 회의는 오전 열 시에 시작합니다.",
    "Завтра мы едем на дачу, если не будет дождя.",
    "اجتماع الفريق غدا في الساعة العاشرة",
    "🚲🌧️ wet ride home, 👩‍👩‍👧 waiting with soup 🍲",
    "🦀",
    "fn main() { println!(\"{}\", 1 + 1); } // prints 2",
    "| when | what |\n|---|---|\n| Monday | bread |\n| Friday | fish |",
    "See https://example.org/a/b?c=d#e and [[Projects/Garden shed|the shed]], #tools ^block-1",
    "\t\u00a0 spaces\u2003of all kinds\u200b and a \u0000 control \u0007 character \r\n",
    "supercalifragilisticexpialidocious " + "x" * 150 + " Donaudampfschifffahrtsgesellschaft",
    "The shed needs a new roof. " * 60,
    " ".join(f"Item {i}: paint {i * 7 % 13} boards and count the nails." for i in range(40)),
]

PAIRS = [
    ("who paints the boards", ["Ada paints the boards.", "The roof is new.", "", "boards " * 60]),
    ("", ["nothing was asked"]),
    ("the shed " * 30, ["Ada paints the boards.", "the roof " * 30]),
]


def frame(values, scale):
    return [round(float(x) * scale) for x in values]


def pool(states, mode):
    states = np.asarray(states, dtype=np.float64)
    vector = {"mean": states.mean(0), "cls": states[0], "max": states.max(0)}[mode]
    return vector / np.linalg.norm(vector)


def tokenizer_of(folder, most):
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(most)
    return tokenizer


def minilm(folder):
    tokenizer = tokenizer_of(folder, 256)
    model = t.FlaxBertModel.from_pretrained(folder)
    out = []
    for text in TEXTS:
        encoding = tokenizer.encode(text)
        ids = np.array([encoding.ids])
        states = model(ids, np.ones_like(ids), np.array([encoding.type_ids])).last_hidden_state[0]
        out.append({"text": text, "ids": encoding.ids, "vector": frame(pool(states, "mean"), 10_000)})
    return out


def weight(name, count):
    """`count` numbers from -0.25 to 0.25 that f32 can hold: a linear congruential generator, seeded by FNV-1a."""
    mask, state = (1 << 64) - 1, 0xCBF29CE484222325
    for byte in name.encode():
        state = ((state ^ byte) * 0x100000001B3) & mask
    values = []
    for _ in range(count):
        state = (state * 6364136223846793005 + 1442695040888963407) & mask
        values.append(((state >> 40) / (1 << 24) - 0.5) * 0.5)
    return np.array(values, dtype=np.float32)


def tensors(shapes):
    out = {}
    for name, shape in shapes.items():
        values = weight(name, int(np.prod(shape))).reshape(shape)
        norm = name.endswith("orm.weight")
        out[name] = values + np.float32(1) if norm else values
    return out


H, LAYERS, HEADS, INNER, POSITIONS = 16, 2, 4, 24, 48


def shapes(kind, rows, head):
    def linear(name, i, o):
        return {f"{name}.weight": (o, i), f"{name}.bias": (o,)}

    def norm(name):
        return {f"{name}.weight": (H,), f"{name}.bias": (H,)}

    own = {"bert": "bert", "roberta": "roberta", "distilbert": "distilbert", "mpnet": "mpnet"}[kind]
    p = f"{own}." if head else ""
    all_ = {f"{p}embeddings.word_embeddings.weight": (rows, H)}
    all_ |= {f"{p}embeddings.position_embeddings.weight": (POSITIONS, H)}
    sides = {"bert": 2, "roberta": 1}.get(kind)
    if sides:
        all_ |= {f"{p}embeddings.token_type_embeddings.weight": (sides, H)}
    all_ |= norm(f"{p}embeddings.LayerNorm")
    if kind == "mpnet":
        all_ |= {f"{p}encoder.relative_attention_bias.weight": (32, HEADS)}
    for i in range(LAYERS):
        if kind == "distilbert":
            l = f"{p}transformer.layer.{i}"
            linears = ["attention.q_lin", "attention.k_lin", "attention.v_lin", "attention.out_lin"]
            norms, inner, outer = ["sa_layer_norm", "output_layer_norm"], "ffn.lin1", "ffn.lin2"
        elif kind == "mpnet":
            l = f"{p}encoder.layer.{i}"
            linears = ["attention.attn.q", "attention.attn.k", "attention.attn.v", "attention.attn.o"]
            norms, inner, outer = ["attention.LayerNorm", "output.LayerNorm"], "intermediate.dense", "output.dense"
        else:
            l = f"{p}encoder.layer.{i}"
            linears = ["attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"]
            norms, inner, outer = ["attention.output.LayerNorm", "output.LayerNorm"], "intermediate.dense", "output.dense"
        for name in linears:
            all_ |= linear(f"{l}.{name}", H, H)
        for name in norms:
            all_ |= norm(f"{l}.{name}")
        all_ |= linear(f"{l}.{inner}", H, INNER) | linear(f"{l}.{outer}", INNER, H)
    if head and kind == "bert":
        all_ |= linear("bert.pooler.dense", H, H) | linear("classifier", H, 1)
    elif head and kind == "distilbert":
        all_ |= linear("pre_classifier", H, H) | linear("classifier", H, 1)
    elif head:
        all_ |= linear("classifier.dense", H, H) | linear("classifier.out_proj", H, 1)
    return all_


def config(kind, rows, head):
    names = {"bert": "Bert", "roberta": "Roberta", "distilbert": "DistilBert", "mpnet": "MPNet"}
    last = "ForSequenceClassification" if head else "Model"
    out = {"model_type": kind, "architectures": [names[kind] + last], "vocab_size": rows}
    out |= {"max_position_embeddings": POSITIONS, "id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}}
    if kind == "distilbert":
        out |= {"dim": H, "n_layers": LAYERS, "n_heads": HEADS, "hidden_dim": INNER, "activation": "gelu"}
        return out | {"pad_token_id": 0, "seq_classif_dropout": 0.0}
    out |= {"hidden_size": H, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "intermediate_size": INNER}
    out |= {"hidden_act": "gelu", "layer_norm_eps": 1e-5 if kind != "bert" else 1e-12}
    out |= {"pad_token_id": 1 if kind in ("roberta", "mpnet") else 0}
    return out | {"type_vocab_size": {"bert": 2}.get(kind, 1), "relative_attention_num_buckets": 32}


def row_of(kind, rows, head, mode, answers):
    """With everything that it takes to write the same model."""
    return {"mode": mode, "config": config(kind, rows, head), "tensors": shapes(kind, rows, head), "answers": answers}


def tiny(kind, mode, head):
    """A model of random weights: vectors of texts, or scores of pairs."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        (folder / "tokenizer.json").write_text((HERE / "tokenizer.json").read_text())
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        rows = tokenizer.get_vocab_size()
        (folder / "config.json").write_text(json.dumps(config(kind, rows, head)))
        save_file(tensors(shapes(kind, rows, head)), folder / "model.safetensors", {"format": "pt"})
        name = {"bert": "Bert", "roberta": "Roberta", "distilbert": "DistilBert", "mpnet": "MPNet"}[kind]
        side = "TF" if kind == "mpnet" else "Flax"
        network = getattr(t, side + name + ("ForSequenceClassification" if head else "Model"))
        if side == "TF":
            # Its own reader of files cannot read these.
            from transformers.modeling_tf_pytorch_utils import load_pytorch_state_dict_in_tf2_model as load
            model = network(getattr(t, name + "Config").from_pretrained(folder))
            model = load(model, tensors(shapes(kind, rows, head)), allow_missing_keys=True)
        else:
            model = network.from_pretrained(folder)
        most = POSITIONS - (2 if kind in ("roberta", "mpnet") else 0)

        def run(encoding):
            ids = np.array([encoding.ids])
            arguments = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
            if kind == "bert":
                arguments["token_type_ids"] = np.array([encoding.type_ids])
            return model(**arguments)

        if head:
            scores = []
            for query, passages in PAIRS:
                # The passage is cut first; a query has half of the tokens at most.
                free = most - 3
                ids = tokenizer.encode(query, add_special_tokens=False).ids[: free // 2]
                query_text = tokenizer.decode(ids)
                assert tokenizer.encode(query_text, add_special_tokens=False).ids == ids
                tokenizer.enable_truncation(most, strategy="only_second")
                logits = [run(tokenizer.encode(query_text, passage)).logits[0][0] for passage in passages]
                tokenizer.no_truncation()
                scores.append([float(1 / (1 + np.exp(-np.float64(x)))) for x in logits])
            return row_of(kind, rows, head, None, scores)
        tokenizer.enable_truncation(most)
        vectors = [pool(run(tokenizer.encode(text)).last_hidden_state[0], mode) for text in TEXTS]
        return row_of(kind, rows, head, mode, [frame(v, 1_000_000) for v in vectors])


def dump(name, rows):
    text = ",\n".join(json.dumps(row, ensure_ascii=True, separators=(",", ":")) for row in rows)
    (HERE / name).write_text(f"[\n{text}\n]\n")


VOCABULARY = "[UNK] [PAD] [CLS] [SEP] [MASK] the a shed needs new roof paint ##s board nails and count item where did i " \
    "park bicycle how do my who nothing was asked ada is ##e ##a ##b ##c ##d x ##x : . , ? 1 2 3 4 ##1 ##2 ##3 " \
    "end month before over write 明 天 東 京 🦀".split()


def tokenizer():
    special = VOCABULARY[:5]
    whole = {
        "version": "1.0",
        # As some authors leave it: whoever reads the file must not pad and cut by it.
        "truncation": {"direction": "Right", "max_length": 12, "strategy": "LongestFirst", "stride": 0},
        "padding": {"strategy": {"Fixed": 12}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 1,
                    "pad_type_id": 0, "pad_token": "[PAD]"},
        "added_tokens": [{"id": i, "content": token, "single_word": False, "lstrip": False, "rstrip": False,
                          "normalized": False, "special": True} for i, token in enumerate(special)],
        "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True,
                       "strip_accents": None, "lowercase": True},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
                       {"SpecialToken": {"id": "[SEP]", "type_id": 0}}],
            "pair": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
                     {"SpecialToken": {"id": "[SEP]", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}},
                     {"SpecialToken": {"id": "[SEP]", "type_id": 1}}],
            "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [2], "tokens": ["[CLS]"]},
                               "[SEP]": {"id": "[SEP]", "ids": [3], "tokens": ["[SEP]"]}}},
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": False},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 100, "vocab": {token: i for i, token in enumerate(VOCABULARY)}},
    }
    (HERE / "tokenizer.json").write_text(json.dumps(whole, ensure_ascii=False, separators=(",", ":")) + "\n")


tokenizer()
if len(sys.argv) > 1:
    dump("minilm.json", minilm(Path(sys.argv[1])))
embedders = [("bert", "mean"), ("bert", "max"), ("roberta", "cls"), ("distilbert", "mean"), ("mpnet", "mean")]
dump("tiny.json", [tiny(kind, mode, False) for kind, mode in embedders]
     + [tiny(kind, None, True) for kind in ("bert", "roberta", "distilbert", "mpnet")])
dump("pairs.json", [{"query": query, "passages": passages} for query, passages in PAIRS])
