"""Data: files of the field, generators, and the form in which rankings are kept.

``RankingData``                     documents of many queries: LETOR files, memory-mapped files
``load_svmlight``                   svmlight (LIBSVM) files as CSR
``load_movielens``                  ratings as CSR
``factorize``, ``fit_user_weights`` features of items from ratings, and what each user makes of them
``make_ranking``, ``make_items``    synthetic data shaped like that of the papers
``make_multiclass``                 labels that linear models made
``load_prices``                     price relatives of shares
``standardize``, ``minmax``         scaling of features and labels, as a record
"""

from ._factorize import factorize, fit_user_weights
from ._make import ItemData, make_items, make_ranking
from ._movielens import load_movielens
from ._multiclass import MulticlassData, make_multiclass
from ._prices import Prices, load_prices
from ._ranking import Query, RankingData
from ._scaling import Scaling, minmax, standardize
from ._svmlight import load_svmlight

__all__ = [
    "ItemData",
    "MulticlassData",
    "Prices",
    "Query",
    "RankingData",
    "Scaling",
    "factorize",
    "fit_user_weights",
    "load_movielens",
    "load_prices",
    "load_svmlight",
    "make_items",
    "make_multiclass",
    "make_ranking",
    "minmax",
    "standardize",
]
