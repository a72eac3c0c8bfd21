"""The printed invoice: both languages, nothing lost, nothing run."""

import io
from datetime import UTC, date, datetime, timedelta

import pytest
import typst
from django.utils import translation
from pypdf import PdfReader

from billing.catalog.models import Price
from billing.invoices import fonts, pdf, queries, services
from billing.invoices.models import Invoice
from billing.metering import services as metering
from pool.inventory.models import Device
from tests import factories
from tests.billing import build
from tests.conftest import Actors

T0 = datetime(2026, 11, 10, 3, tzinfo=UTC)
AFTER = datetime(2026, 11, 30, 17, tzinfo=UTC)


@pytest.fixture
def invoice(actors: Actors, price: Price, card: Device) -> Invoice:
    actors.a.name = "极光计算（深圳）有限公司 Aurora"
    actors.a.save()
    project = factories.make_project(actors.a, "vision")
    project.name = '#panic("视觉") =1+1 *bold*'
    project.save()
    build.interval(card, build.job(actors.a, project), T0, T0 + timedelta(hours=41, minutes=9))
    metering.meter_closed(AFTER)
    return services.issue(actors.finance, services.refresh(actors.finance, actors.a, date(2026, 11, 1), AFTER), AFTER)


def text_of(invoice: Invoice) -> str:
    pages = PdfReader(io.BytesIO(pdf.render(invoice, queries.lines_of(invoice)))).pages
    return "\n".join(page.extract_text() for page in pages)


def test_every_fact_is_on_paper_in_english(invoice: Invoice) -> None:
    text = text_of(invoice)
    facts = [
        "INV-2026-000001",
        "极光计算（深圳）有限公司",
        "Aurora",
        "41.150000",
        "1,234.50",
        "H100-80GB",
        "Asia/Shanghai",
    ]
    for part in facts:
        assert part in text


def test_text_of_others_is_printed_and_never_run(invoice: Invoice) -> None:
    text = text_of(invoice).replace("\n", " ")
    assert '#panic("视觉")' in text
    assert "*bold*" in text


def test_chinese_glyphs_are_embedded(invoice: Invoice) -> None:
    with translation.override("zh-hans"):
        reader = PdfReader(io.BytesIO(pdf.render(invoice, queries.lines_of(invoice))))
    fonts_used = [font for page in reader.pages for font in page["/Resources"]["/Font"].values()]
    names = {str(font.get_object()["/BaseFont"]) for font in fonts_used}
    assert any("CJK" in name or "SC" in name or "Hei" in name for name in names)


def test_the_same_invoice_gives_the_same_bytes(invoice: Invoice) -> None:
    lines = queries.lines_of(invoice)
    assert pdf.render(invoice, lines) == pdf.render(invoice, lines)


def test_without_a_chinese_font_it_says_what_to_install(invoice: Invoice, monkeypatch: pytest.MonkeyPatch) -> None:
    bare = typst.Fonts(include_system_fonts=False)
    monkeypatch.setattr(fonts, "found", lambda: bare)
    with pytest.raises(fonts.FontMissing, match="apt-get install fonts-noto-cjk"):
        pdf.render(invoice, queries.lines_of(invoice))
