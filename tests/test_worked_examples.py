"""The classic worked examples, to the digit."""

import numpy as np
from numpy.testing import assert_allclose

from regard import attend, softmax
from regard.normalizers import hide

STATE = [5, 1, 20]
ANNOTATIONS = [[3, 12, 45], [59, 2, 5], [1, 43, 5], [4, 3, 45.3]]


def test_one_annotation_scores_927():
    assert attend(STATE, [[3, 12, 45]], score="dot").scores.tolist() == [927.0]


def test_first_example_to_the_digit():
    attended = attend(STATE, ANNOTATIONS, score="dot")
    assert_allclose(attended.scores, [927, 397, 148, 929], rtol=1e-15)
    assert_allclose(attended.weights, [0.11920292, 7.94715151e-232, 0, 0.88079708], rtol=1e-7)
    assert_allclose(attended.context, [3.88079708, 4.0728263, 45.26423912], rtol=1e-9)


def words_and_weights():
    words = np.array([[1, 0, 1], [0, 1, 0], [1, 1, 0], [0, 0, 1]])
    legacy = np.random.RandomState(42)
    return words, *(legacy.randint(3, size=(3, 3)) for _ in range(3))


def test_second_example_row_by_row_as_attention_is_defined():
    words, W_Q, W_K, W_V = words_and_weights()
    context = attend(words @ W_Q, words @ W_K, words @ W_V).context
    expected = [
        [0.99996933, 1.64042681, 0.64045748],
        [0.90965265, 1.40965265, 0.5],
        [0.9990212, 1.4990212, 0.5],
        [0.99690079, 1.63735826, 0.64045748],
    ]
    assert_allclose(context, expected, atol=5e-9)


def test_second_example_over_the_whole_matrix_as_widely_published():
    words, W_Q, W_K, W_V = words_and_weights()
    context = attend(words @ W_Q, words @ W_K, words @ W_V, normalize=lambda s: softmax(s, axis=None)).context
    expected = [
        [9.92901880e-01, 1.62883281e00, 6.35930933e-01],
        [1.22920950e-05, 1.90485723e-05, 6.75647734e-06],
        [3.95390534e-03, 5.93279494e-03, 1.97888961e-03],
        [3.08678210e-03, 5.06988081e-03, 1.98309872e-03],
    ]
    assert_allclose(context, expected, rtol=5e-9)


def test_steps_tell_the_whole_first_example():
    steps = {
        step.name: step for step in attend(STATE, ANNOTATIONS, score="dot", visible=[True, True, True, False]).steps()
    }
    assert list(steps) == ["query", "keys", "values", "scores", "masked", "weights", "weighted values", "context"]
    assert steps["masked"].value.tolist() == hide(steps["scores"].value, [True, True, True, False]).tolist()
    assert_allclose(steps["weighted values"].value.sum(0), steps["context"].value)
    assert steps["values"].formula == "the keys"
    assert steps["weights"].formula == "softmax(masked)"
