"""Every estimator passes every common check of scikit-learn: none is expected to fail, and none is skipped."""

from __future__ import annotations

from unittest import SkipTest

import pytest
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import estimator_checks_generator

from conftest import ESTIMATORS, cloud, embed, model_of, name_of

# scikit-learn runs these on its own estimators, but leaves them out of `check_estimator`.
FURTHER_CHECKS = (
    "check_dataframe_column_names_consistency",
    "check_do_not_raise_errors_in_init_or_set_params",
    "check_get_feature_names_out_error",
    "check_global_output_transform_pandas",
    "check_global_set_output_transform_polars",
    "check_inplace_ensure_writeable",
    "check_param_validation",
    "check_parameters_default_constructible",
    "check_set_output_transform",
    "check_set_output_transform_pandas",
    "check_set_output_transform_polars",
    "check_transformer_get_feature_names_out",
    "check_transformer_get_feature_names_out_pandas",
)

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
