//! What can be said of the bytes without a runtime; `tests/python/test_onnx.py` runs them.
