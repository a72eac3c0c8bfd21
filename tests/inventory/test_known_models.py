"""The table of known models, and names as vendors' tools print them."""

import pytest

from pool.engine.mig import family_for
from pool.engine.mig_tables import FAMILIES
from pool.inventory.known_models import KNOWN, recognise
from tests import shared_data


def test_every_mig_family_exists_and_no_slice_is_larger_than_its_card() -> None:
    for model in KNOWN.values():
        if not model.mig_family:
            continue
        family = FAMILIES[model.mig_family]
        largest = max(family.memory_of(profile, model.memory_mib) for profile in family.profiles)
        assert largest <= model.memory_mib, model.name


def test_the_engine_names_the_same_family_from_name_and_memory() -> None:
    for model in KNOWN.values():
        if model.vendor == "nvidia":
            assert family_for(model.name.replace("-", " "), model.memory_mib) == model.mig_family, model.name


def test_all_models_of_the_openb_nodes_are_known() -> None:
    named = {row["model"] for row in shared_data.rows("openb/openb_node_list_gpu_node.csv")}
    assert named <= KNOWN.keys()


@pytest.mark.parametrize(
    ("product", "memory", "name"),
    [
        ("NVIDIA H100 80GB HBM3", 81559, "H100-80GB"),
        ("NVIDIA H100 NVL", 95830, "H100-94GB"),
        ("NVIDIA A100-SXM4-80GB", 81920, "A100-80GB"),
        ("NVIDIA A100-SXM4-40GB", 40536, "A100-40GB"),
        ("NVIDIA A100-PCIE-40GB", 0, "A100-40GB"),
        ("NVIDIA H20", 97871, "H20-96GB"),
        ("NVIDIA H200", 143771, "H200-141GB"),
        ("NVIDIA GH200 480GB", 97871, "GH200-96GB"),
        ("NVIDIA L40S", 46068, "L40S"),
        ("Tesla T4", 15360, "T4"),
        ("Tesla V100-SXM2-32GB", 32768, "V100M32"),
        ("AMD Instinct MI300X OAM", 196592, "MI300X"),
        ("Ascend910B3", 65536, "Ascend-910B"),
        ("H100-80GB", 0, "H100-80GB"),
    ],
)
def test_product_names(product: str, memory: int, name: str) -> None:
    model = recognise(product, memory)
    assert model is not None
    assert model.name == name


@pytest.mark.parametrize(("product", "memory"), [("NVIDIA H100", 40000), ("Voodoo 2", 12), ("", 0), ("NVIDIA A100", 0)])
def test_what_is_not_certain_is_not_guessed(product: str, memory: int) -> None:
    assert recognise(product, memory) is None
