"""The price table that a fresh installation starts with.

ASSUMPTIONS, not a market survey: CNY per card-hour, before tax, made to be edited by finance. The entry model's
price follows from the entry slice's setting. H100-80GB: ¥31.25, from the worked example of ¥750 a card-day;
the other prices keep a rough proportion to it by memory and dense FP16 throughput. Rows written from here carry
`assumed`, and every page that shows one says so.
"""

from typing import Final

CURRENCY: Final = "CNY"
PER_CARD_HOUR: Final = {
    "B300-269GB": "78.00",
    "GB200-186GB": "72.00",
    "B200-180GB": "65.00",
    "GH200-144GB": "44.00",
    "GH200-96GB": "38.00",
    "H200-141GB": "40.00",
    "H100-94GB": "33.00",
    "H100-80GB": "31.25",
    "H800-80GB": "29.50",
    "H20-96GB": "14.00",
    "A100-80GB": "16.00",
    "A100-40GB": "12.50",
    "A800-80GB": "15.00",
    "A800-40GB": "11.50",
    "A30": "6.00",
    "RTX-PRO-6000-96GB": "15.00",
    "L40S": "10.00",
    "L40": "8.00",
    "L20": "7.00",
    "L4": "4.00",
    "A40": "6.50",
    "A10": "4.50",
    "A10G": "4.20",
    "RTX-4090": "4.80",
    "RTX-3090": "2.60",
    "T4": "2.30",
    "V100M32": "5.50",
    "V100M16": "4.50",
    "P100": "1.80",
    "G2": "4.00",
    "G3": "5.00",
    "MI300X": "30.00",
    "MI325X": "36.00",
    "MI250X": "10.00",
    "Ascend-910B": "12.00",
    "Ascend-910C": "15.00",
    "Ascend-310P": "2.50",
    "MLU370-X8": "5.00",
    "K100-AI": "8.00",
    "Gaudi2": "14.00",
    "Gaudi3": "28.00",
}
