"""Chinese pages group digits in threes, as accounts in China do; Django's default is none."""

THOUSAND_SEPARATOR = ","
NUMBER_GROUPING = 3
DATE_FORMAT = "Y年n月j日"
DATETIME_FORMAT = "Y年n月j日 H:i"
SHORT_DATE_FORMAT = "Y-m-d"
SHORT_DATETIME_FORMAT = "Y-m-d H:i"
TIME_FORMAT = "H:i"
YEAR_MONTH_FORMAT = "Y年n月"
