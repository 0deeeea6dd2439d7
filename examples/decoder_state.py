"""Worked example 1: a decoder state looks at four annotations, by hand and by `regard`."""

import math

import regard

state = [5, 1, 20]
annotations = [[3, 12, 45], [59, 2, 5], [1, 43, 5], [4, 3, 45.3]]

# By hand: a dot product for each annotation, then the softmax. exp(929) overflows, so the largest score is taken off.
scores = [sum(s * a for s, a in zip(state, annotation, strict=True)) for annotation in annotations]
shares = [math.exp(score - max(scores)) for score in scores]
weights = [share / sum(shares) for share in shares]
context = [sum(w * annotation[i] for w, annotation in zip(weights, annotations, strict=True)) for i in range(3)]
print("by hand  ", [round(x, 4) for x in context])

# The same in one call, with every step kept.
attended = regard.attend(state, annotations, score="dot")
print("regard   ", attended.context.round(4).tolist())
for step in attended.steps():
    print(f"{step.name:16} {step.formula:28} {step.value.round(4).tolist()}")
