"""Maps on disk: the same in another process, and refused when they are cut or of another model."""

import json
import subprocess
import sys

import pytest
import torch

import regard
from regard.errors import DataError, InputError
from regard.inspection.store import Store, open_store
from tests.inspection.models import made, mistral, t5, token_ids


@pytest.fixture
def stored(tmp_path):
    with torch.no_grad(), regard.record(mistral(), store=tmp_path / "maps") as recorded:
        mistral()(token_ids())
    return tmp_path / "maps", recorded


def test_another_process_reads_the_same(stored):
    directory, recorded = stored
    code = (
        "import sys; from regard.inspection.store import open_store; found = open_store(sys.argv[1]);"
        "print(found['model.layers.1.self_attn'][1, 2].weights()[7].tolist(), found.tokens[0])"
    )
    done = subprocess.run([sys.executable, "-c", code, str(directory)], capture_output=True, text=True, check=True)
    row = recorded["model.layers.1.self_attn"][1, 2].weights()[7].tolist()
    assert done.stdout.strip() == f"{row} {recorded.tokens[0]}"


def test_every_part_of_a_call_is_kept(tmp_path):
    ids = token_ids()
    with torch.no_grad(), regard.record(t5(), store=tmp_path) as recorded:
        t5()(input_ids=ids, decoder_input_ids=ids[:, :4])
    found = open_store(tmp_path)
    assert list(found) == list(recorded)
    for name in found:
        assert torch.equal(found[name][1, 3].weights(), recorded[name][1, 3].weights())


def test_half_the_size_still_sums_to_one(tmp_path):
    sizes = []
    for dtype in (None, torch.bfloat16):
        store = Store(tmp_path / str(dtype), dtype=dtype)
        with torch.no_grad(), regard.record(mistral(), store=store) as recorded:
            mistral()(token_ids(1, 60))
        sizes.append(sum(path.stat().st_size for path in store.directory.glob("*.safetensors")))
        torch.testing.assert_close(recorded["model.layers.0.self_attn"][0, 0].weights().sum(-1), torch.ones(60))
    assert sizes[1] < 0.65 * sizes[0]


def test_damage_is_said(stored):
    directory, _ = stored
    file = directory / "0001.safetensors"
    whole = file.read_bytes()
    file.write_bytes(whole[:-8])
    with pytest.raises(DataError, match=r"0001.safetensors is cut or of another store"):
        open_store(directory)
    file.write_bytes(b"\xff" * len(whole))
    with pytest.raises(DataError, match="cannot be read"):
        open_store(directory)
    file.unlink()
    with pytest.raises(DataError, match="cannot be read"):
        open_store(directory)
    (directory / "recorded.json").write_text("{")
    with pytest.raises(DataError, match="is damaged"):
        open_store(directory)
    (directory / "recorded.json").write_text(json.dumps({"format": 99}))
    with pytest.raises(DataError, match="of another format"):
        open_store(directory)
    (directory / "recorded.json").unlink()
    with pytest.raises(DataError, match="is not a store of maps"):
        open_store(directory)


def test_another_model_is_refused(stored, tmp_path):
    directory, _ = stored
    with pytest.raises(DataError, match="holds the maps of a MistralForCausalLM, not of a"):
        open_store(directory, t5())
    bert = made(
        "BertModel", hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16, vocab_size=97
    )
    message = "go to another directory"
    with torch.no_grad(), pytest.raises(InputError, match=message), regard.record(bert, store=directory):
        bert(token_ids())
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="a store is a directory"), regard.record(bert, store=tmp_path / "file"):
        pass


def test_a_record_from_a_store_has_no_model_to_run(stored):
    with pytest.raises(InputError, match="has no model to run"):
        open_store(stored[0]).importance(lambda: torch.zeros(()))
