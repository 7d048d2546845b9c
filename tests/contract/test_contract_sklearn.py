"""Every estimator passes every common check of scikit-learn: none is expected to fail, and none is skipped."""

from __future__ import annotations

from inspect import isfunction
from unittest import SkipTest

import pytest
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import estimator_checks_generator

from conftest import ESTIMATORS, cloud, embed, model_of, name_of
from given import told_of
from lowfold import inputs

# scikit-learn runs these on its own estimators, but leaves them out of `check_estimator`: the last one for whatever is
# called Isomap or KernelPCA.
FURTHER_CHECKS = (
    "check_dataframe_column_names_consistency",
    "check_do_not_raise_errors_in_init_or_set_params",
    "check_get_feature_names_out_error",
    "check_global_output_transform_pandas",
    "check_global_set_output_transform_polars",
    "check_inplace_ensure_writeable",
    "check_param_validation",
    "check_parameters_default_constructible",
    "check_requires_y_none",
    "check_set_output_transform",
    "check_set_output_transform_pandas",
    "check_set_output_transform_polars",
    "check_transformer_get_feature_names_out",
    "check_transformer_get_feature_names_out_pandas",
    "check_transformer_n_iter",
)

# What is left, by the reason why it says nothing of our estimators.
OF_OTHERS = {
    "runs the others": {"check_estimator"},
    "of classifiers": {
        "check_class_weight_balanced_classifiers",
        "check_class_weight_balanced_linear_classifier",
        "check_class_weight_classifiers",
        "check_classifier_data_not_an_array",
        "check_classifier_multioutput",
        "check_classifier_not_supporting_multiclass",
        "check_classifiers_classes",
        "check_classifiers_multilabel_output_format_decision_function",
        "check_classifiers_multilabel_output_format_predict",
        "check_classifiers_multilabel_output_format_predict_proba",
        "check_classifiers_multilabel_representation_invariance",
        "check_classifiers_one_label",
        "check_classifiers_one_label_sample_weights",
        "check_classifiers_predictions",
        "check_classifiers_regression_target",
        "check_classifiers_train",
        "check_decision_proba_consistency",
    },
    "of regressors": {
        "check_regressor_data_not_an_array",
        "check_regressor_multioutput",
        "check_regressors_int",
        "check_regressors_no_decision_function",
        "check_regressors_train",
    },
    "of what needs labels": {"check_supervised_y_2d", "check_supervised_y_no_nan"},
    "a part of what classifiers and regressors are checked by": {"check_estimators_data_not_an_array"},
    "of clusterings": {"check_clusterer_compute_labels_predict", "check_clustering"},
    "of what finds outliers": {
        "check_outlier_contamination",
        "check_outlier_corruption",
        "check_outliers_fit_predict",
        "check_outliers_train",
    },
    "of weighted samples, which no fit here takes": {
        "check_all_zero_sample_weights_error",
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
        "check_sample_weights_list",
        "check_sample_weights_not_an_array",
        "check_sample_weights_not_overwritten",
        "check_sample_weights_pandas_series",
        "check_sample_weights_shape",
    },
    "of the arrays of other libraries, which are no input here": {
        "check_array_api_input_and_values",
        "check_array_api_mixed_inputs",
        "check_array_api_same_namespace",
    },
    "of a partial_fit": {"check_estimators_partial_fit_n_features"},
    "of linear coefficients": {"check_sparsify_coefficients"},
    "of what takes nothing negative": {"check_fit_non_negative"},
    "of what is no transformer": {"check_non_transformer_estimators_n_iter"},
    "of transformers that need no fit": {"check_transformers_unfitted_stateless"},
    "of what takes pairs; tested below": {"check_nonsquare_error"},
}

OF_PAIRS = (inputs.DISTANCES, inputs.KERNEL, inputs.AFFINITY)
PAIRWISE = [
    pytest.param(cls, kind, id=f"{name_of(cls)}-{kind}")
    for cls in ESTIMATORS
    for kind in OF_PAIRS
    if kind in cls.accepts
]

# They need a switch of SciPy that is read when it is imported, and so a process of their own.
ARRAY_API = "array_api"

ARRAY_API_CHECKS = f"""
from conftest import ESTIMATORS, model_of
from sklearn.utils.estimator_checks import estimator_checks_generator

for cls in ESTIMATORS:
    for model, check in estimator_checks_generator(model_of(cls)):
        if {ARRAY_API!r} in check.func.__name__:
            check(model)
            print(cls.__name__)
"""


def common_checks():
    for cls in ESTIMATORS:
        for model, check in estimator_checks_generator(model_of(cls)):
            if ARRAY_API not in check.func.__name__:
                details = "-".join(map(str, check.keywords))
                yield pytest.param(model, check, id=f"{cls.__name__}-{check.func.__name__}-{details}".rstrip("-"))


@pytest.mark.parametrize(("model", "check"), list(common_checks()))
def test_common_check_of_scikit_learn_passes(model, check):
    try:
        check(model)
    except SkipTest as reason:
        pytest.fail(f"the check did not run: {reason}")


def test_every_check_of_scikit_learn_runs_or_is_of_others(estimator):
    known = {name for name, check in vars(estimator_checks).items() if name.startswith("check_") and isfunction(check)}
    known = {name for name in known if getattr(estimator_checks, name).__module__ == estimator_checks.__name__}
    run = {check.func.__name__ for _, check in estimator_checks_generator(model_of(estimator))} | {*FURTHER_CHECKS}
    others = set().union(*OF_OTHERS.values())
    assert known - run - others == set()
    assert run & others == set()


@pytest.mark.parametrize(("cls", "kind"), PAIRWISE)
def test_check_of_estimators_of_pairs_passes(cls, kind):
    estimator_checks.check_nonsquare_error(cls.__name__, model_of(cls, **told_of(kind)))


@pytest.mark.filterwarnings("ignore:X (has|does not have)( valid)? feature names")  # the checks mix both on purpose
@pytest.mark.parametrize("check", FURTHER_CHECKS)
@pytest.mark.parametrize("cls", ESTIMATORS, ids=name_of)
def test_check_that_scikit_learn_keeps_for_its_own_estimators_passes(cls, check):
    try:
        getattr(estimator_checks, check)(cls.__name__, model_of(cls))
    except SkipTest as reason:
        pytest.fail(f"the check did not run: {reason}")


def test_array_api_dispatch_changes_nothing_for_numpy_arrays(run_script):
    passed = run_script(ARRAY_API_CHECKS, SCIPY_ARRAY_API="1").split()
    assert set(passed) == {cls.__name__ for cls in ESTIMATORS}


def test_default_parameters_fit_a_hundred_points(estimator):
    assert embed(estimator(), cloud(100)).shape[0] == 100
