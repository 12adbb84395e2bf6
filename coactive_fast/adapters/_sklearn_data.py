"""scikit-learn's check of rows, which an older one than these adapters need does not have."""

try:
    from sklearn.utils.validation import validate_data
except ImportError as error:
    raise ImportError("coactive_fast.adapters.sklearn needs scikit-learn 1.6 or newer: "
                      'pip install "coactive_fast[sklearn]"', name="sklearn") from error

__all__ = ["validate_data"]
