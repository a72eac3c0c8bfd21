"""All pages of billing, under /billing/."""

from django.urls import path
from django.urls.resolvers import URLPattern
from django.views.generic import RedirectView

from billing.catalog import pages as prices
from billing.invoices import files
from billing.invoices import pages as invoices
from billing.ledger import pages as ledger
from billing.metering import pages as usage

app_name = "billing"
urlpatterns: list[URLPattern] = [
    path("", RedirectView.as_view(pattern_name="billing:usage"), name="home"),
    path("usage/", usage.usage, name="usage"),
    path("usage/export/", usage.export, name="usage_export"),
    path("usage/chart/", usage.chart, name="usage_chart"),
    path("usage/records/", usage.records, name="usage_records"),
    path("usage/records/export/", usage.records_export, name="usage_records_export"),
    path("usage/reconciliation/", usage.reconciliation, name="usage_reconciliation"),
    path("usage/reconciliation/export/", usage.reconciliation_export, name="usage_reconciliation_export"),
    path("prices/", prices.prices, name="price_list"),
    path("prices/export/", prices.export, name="price_export"),
    path("prices/<str:public_id>/cancel", prices.cancel, name="price_cancel"),
    path("invoices/", invoices.invoices, name="invoice_list"),
    path("invoices/export/", invoices.export, name="invoice_export"),
    path("invoices/draft", invoices.draft, name="invoice_draft"),
    path("invoices/<str:public_id>/", invoices.invoice, name="invoice_detail"),
    path("invoices/<str:public_id>/refresh", invoices.refresh, name="invoice_refresh"),
    path("invoices/<str:public_id>/issue", invoices.issue, name="invoice_issue"),
    path("invoices/<str:public_id>/settle", invoices.settle, name="invoice_settle"),
    path("invoices/<str:public_id>/pdf", files.pdf_file, name="invoice_pdf"),
    path("invoices/<str:public_id>/export/", files.lines_file, name="invoice_lines_export"),
    path("invoices/<str:public_id>/lines/<str:line_id>/", invoices.line, name="invoice_line"),
    path("invoices/<str:public_id>/lines/<str:line_id>/export/", files.usage_file, name="invoice_usage_export"),
    path("ledger/accounts/", ledger.accounts, name="ledger_accounts"),
    path("ledger/accounts/export/", ledger.accounts_export, name="ledger_accounts_export"),
    path("ledger/accounts/<str:account_id>/", ledger.account, name="ledger_account"),
    path("ledger/accounts/<str:account_id>/export/", ledger.account_export, name="ledger_account_export"),
    path("ledger/postings/", ledger.postings, name="ledger_postings"),
    path("ledger/postings/export/", ledger.postings_export, name="ledger_postings_export"),
    path("ledger/postings/<str:posting_id>/", ledger.posting, name="ledger_posting"),
    path("ledger/postings/<str:posting_id>/reverse", ledger.reverse, name="ledger_reverse"),
    path("ledger/trial/", ledger.trial, name="ledger_trial"),
    path("ledger/trial/export/", ledger.trial_export, name="ledger_trial_export"),
]
