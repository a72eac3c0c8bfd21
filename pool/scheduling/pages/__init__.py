"""Pages of jobs and queues. Templates are in templates/scheduling/."""

from django.urls import path
from django.urls.resolvers import URLPattern

from pool.scheduling.pages import (
    acting,
    decision,
    defrag,
    defrag_rules,
    detail,
    fragmentation,
    job_list,
    logs,
    mig_next,
    preemptions,
    queue_form,
    queues,
    shares,
    submitting,
)

app_name = "scheduling"
urlpatterns: list[URLPattern] = [
    path("jobs/", job_list.jobs, name="job_list"),
    path("jobs/export/", job_list.export, name="job_export"),
    path("jobs/submit/", submitting.submit, name="job_submit"),
    path("jobs/submit/check/", submitting.check, name="job_check"),
    path("jobs/<str:public_id>/", detail.job, name="job_detail"),
    path("jobs/<str:public_id>/log/", logs.poll, name="job_log"),
    path("jobs/<str:public_id>/log/<str:stream>/", logs.download, name="job_log_file"),
    path("jobs/<str:public_id>/<str:action>", acting.act, name="job_act"),
    path("devices/<str:public_id>/next-profiles", mig_next.part, name="device_mig_next"),
    path("fragmentation/", fragmentation.fragmentation, name="fragmentation"),
    path("defrag/", defrag.plan_list, name="defrag_list"),
    path("defrag/export/", defrag.export, name="defrag_export"),
    path("defrag/ask", defrag.ask, name="defrag_ask"),
    path("defrag/rules/", defrag_rules.edit, name="defrag_rules"),
    path("defrag/<str:public_id>/", defrag.plan, name="defrag_plan"),
    path("defrag/<str:public_id>/<str:action>", defrag.act, name="defrag_act"),
    path("decisions/<str:public_id>/", decision.decision, name="decision_detail"),
    path("queues/", queues.queues, name="queue_list"),
    path("queues/export/", queues.export, name="queue_export"),
    path("queues/shares/", shares.shares, name="shares"),
    path("queues/preemptions/", preemptions.preemption_list, name="preemption_list"),
    path("queues/preemptions/export/", preemptions.export, name="preemption_export"),
    path("queues/new/", queue_form.new, name="queue_new"),
    path("queues/<str:public_id>/", queues.queue, name="queue_detail"),
    path("queues/<str:public_id>/edit/", queue_form.edit, name="queue_edit"),
    path("queues/<str:public_id>/state", queues.change_state, name="queue_state"),
]
