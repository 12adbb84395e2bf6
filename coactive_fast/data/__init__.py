"""Data: files of the field, generators, and the form in which rankings are kept.

``RankingData``                     documents of many queries: LETOR files, memory-mapped files
``load_yahoo``, ``load_letor``      the sets of the field, from their folders
``load_svmlight``                   svmlight (LIBSVM) files as CSR
``load_terms``, ``load_rcv1``       documents as counts of terms, with classes or topics
``load_table``                      plain tables with a column of labels
``load_breast_cancer``              the 683 rows without gaps
``load_movielens``                  ratings as CSR
``factorize``, ``fit_user_weights`` features of items from ratings, and what each user makes of them
``choose_factors``                  rank and regularisation by cross-validation, for new users
``make_ranking``, ``make_items``    synthetic data shaped like that of the papers
``make_multiclass``                 labels that linear models made
``make_confidit``, ``make_filtering``, ``make_simple_filter``   the papers' own models of labels
``load_prices``                     price relatives of shares
``standardize``, ``minmax``         scaling of features and labels, as a record

A line of a file may be 64 MiB long; a longer one is a `ValueError` with the file and its number.
"""

from ._documents import Documents, TopicDocuments, load_rcv1, load_terms
from ._make import (
    ItemData,
    LabelData,
    MulticlassData,
    RelevanceData,
    make_confidit,
    make_filtering,
    make_items,
    make_multiclass,
    make_ranking,
    make_simple_filter,
)
from ._ranking import Query, RankingData, load_letor, load_yahoo
from ._ratings import FactorChoice, choose_factors, factorize, fit_user_weights, load_movielens
from ._scaling import Scaling, minmax, standardize
from ._svmlight import load_svmlight
from ._tables import Prices, Table, load_breast_cancer, load_prices, load_table

__all__ = [
    "Documents", "FactorChoice", "ItemData", "LabelData", "MulticlassData", "Prices", "Query",
    "RankingData", "RelevanceData", "Scaling", "Table", "TopicDocuments", "choose_factors",
    "factorize", "fit_user_weights", "load_breast_cancer", "load_letor", "load_movielens",
    "load_prices", "load_rcv1", "load_svmlight", "load_table", "load_terms", "load_yahoo",
    "make_confidit", "make_filtering", "make_items", "make_multiclass", "make_ranking",
    "make_simple_filter", "minmax", "standardize",
]
