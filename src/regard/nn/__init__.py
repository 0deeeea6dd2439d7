"""The mechanisms as trainable PyTorch layers."""

from regard.nn.attention import Attention
from regard.nn.multi_head import MultiHeadAttention
from regard.nn.scores import SCORES, TrainableScore
from regard.nn.self_attention import SelfAttention
from regard.nn.windows import MonotonicWindow, PredictedWindow

__all__ = [
    "SCORES",
    "Attention",
    "MonotonicWindow",
    "MultiHeadAttention",
    "PredictedWindow",
    "SelfAttention",
    "TrainableScore",
]
