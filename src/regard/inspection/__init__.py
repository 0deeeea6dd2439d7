"""Models that others wrote: their attention recorded exactly while their own kernels run, hidden, and ranked.

recorder.py        record(): the context manager      watching.py      module names; who hears of a call
huggingface.py     the attention interface             torch_calls.py   what torch itself is asked to attend
call.py            one call: q, k and how they score   visibility.py    where a query may look, in O(n) where it can be
attention_map.py   AttentionMap, lazy                  passes.py        what needs every weight once
heads.py           what each head does                 hide.py, importance.py   what if it could not
"""
