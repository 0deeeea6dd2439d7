"""Worked example 2: four words attend to each other, with the softmax taken in two ways."""

import numpy as np

import regard

words = np.array([[1, 0, 1], [0, 1, 0], [1, 1, 0], [0, 0, 1]])
legacy = np.random.RandomState(42)  # what np.random.seed(42) gives
W_Q, W_K, W_V = (legacy.randint(3, size=(3, 3)) for _ in range(3))
queries, keys, values = words @ W_Q, words @ W_K, words @ W_V

print("row by row, as attention is defined: each word's weights sum to 1")
print(regard.attend(queries, keys, values).context)

print("over the whole matrix, as widely published: all sixteen weights together sum to 1")
print(regard.attend(queries, keys, values, normalize=lambda scores: regard.softmax(scores, axis=None)).context)
