"""reference_rows.py FOLDER CONVERSATIONS.jsonl [ENDPOINT]: what speculators makes of conversations, one JSON line each. Runs in its own environment.

Without an endpoint (0.7) one `[[ids, mask]]` per conversation; with one that renders (0.9) its boundary rows, or its complaint as a text.
"""

import importlib.util
import json
import sys
import types
from pathlib import Path

if importlib.util.find_spec("hs_connectors") is None:  # what 0.9 fetches hidden states with: imported, but no part of making rows
    absent = types.ModuleType("hs_connectors")
    absent.FileTransfer = absent.HiddenStatesTransfer = object
    sys.modules["hs_connectors"] = absent

from speculators.data_generation import preprocessing
from transformers import AutoTokenizer

folder, conversations, *endpoint = sys.argv[1:]
if not endpoint:
    tokenizer = AutoTokenizer.from_pretrained(folder)
    pattern = preprocessing._detect_assistant_pattern(tokenizer)
for line in Path(conversations).read_text(encoding="utf-8").split("\n"):
    row = json.loads(line)
    if endpoint:
        try:
            messages = preprocessing._normalize_conversation(row["messages"])
            made = preprocessing._render_boundary_rows(messages, endpoint[0], 100_000, tools=row["tools"] or None)
            print(json.dumps([[one["input_ids"], one["loss_mask"]] for one in made]))
        except Exception as error:
            print(json.dumps(str(error)))
    else:
        batch = {"conversations": [row["messages"]], "tools": [json.dumps(row["tools"]) if row["tools"] else None]}
        made = preprocessing._preprocess_batch(batch, tokenizer, 100_000, pattern)
        rows = zip(made["input_ids"], made["loss_mask"], strict=True)
        print(json.dumps([[list(map(int, ids)), list(map(int, mask))] for ids, mask in rows]))
