"""The only place where everything is wired together."""

import os
from pathlib import Path

from django.utils.translation import gettext_lazy as _

from console import environment

BASE_DIR = Path(__file__).resolve().parent.parent
HOME = environment.home(BASE_DIR)
SECRET_KEY = environment.secret_key(HOME)
DEBUG = environment.flag("WEIR_DEBUG")
ALLOWED_HOSTS = environment.words("WEIR_ALLOWED_HOSTS", "localhost,127.0.0.1,[::1],testserver")
CSRF_TRUSTED_ORIGINS = environment.words("WEIR_TRUSTED_ORIGINS")
SECURE = environment.flag("WEIR_SECURE")  # served over TLS, directly or behind a proxy

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.socialaccount",
    "channels",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "django_htmx",
    "csp",
    "lucide",
    "console.common",
    "console.tenants",
    "console.accounts",
    "console.audit",
    "console.approvals",
    "console.embedded",
    "console.demo",
    "console.web",
    "pool.inventory",
    "pool.scheduling",
    "pool.nodes",
    "billing.catalog",
    "billing.metering",
    "billing.ledger",
    "billing.invoices",
]

MIDDLEWARE = [
    "console.common.middleware.RequestIdMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "console.tenants.middleware.ActorMiddleware",
    "console.accounts.middleware.SessionMiddleware",
    "console.accounts.middleware.SecondFactorMiddleware",
    # every page asks for a sign-in unless it says @login_not_required; the API has its own permissions
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "console.web.middleware.PreferencesMiddleware",
    "console.web.middleware.RefusalPagesMiddleware",
]

ROOT_URLCONF = "console.urls"
ASGI_APPLICATION = "console.asgi.application"
WEIR_WEB_THREADS = int(os.environ.get("WEIR_WEB_THREADS", "8"))  # requests at the same time in a web process

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "console.web.context.shell",
            ],
        },
    }
]

DATABASES = {"default": environment.database(HOME)}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

REDIS_URL, CELERY_BROKER_URL = environment.redis_urls(HOME)
CHANNEL_LAYERS = {
    # the core layer silently lost 45 % of frames at 200 sockets; pub/sub loses none
    "default": {
        "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
        "CONFIG": {"hosts": [REDIS_URL], "prefix": "weir"},
    }
}
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": REDIS_URL,
        "KEY_PREFIX": "weir",
    }
}

# Accounts: one login path only, through allauth
AUTH_USER_MODEL = "tenants.User"
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*", "password2*"]
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_ADAPTER = "console.accounts.adapter.AccountAdapter"
ACCOUNT_RATE_LIMITS = {"login": "30/m/ip", "login_failed": "10/m/ip,5/5m/key"}
ACCOUNT_PREVENT_ENUMERATION = True
ACCOUNT_EMAIL_UNKNOWN_ACCOUNTS = False  # strangers get no mail from us, and nobody signs up
ACCOUNT_SESSION_REMEMBER = False
MFA_ADAPTER = "console.accounts.mfa_adapter.MfaAdapter"
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_RECOVERY_CODES_SHOW_ONCE = True
SOCIALACCOUNT_ADAPTER = "console.accounts.oidc.adapter.SocialAdapter"
SOCIALACCOUNT_LOGIN_ON_GET = True  # a form would be stopped by the CSP on its way to the provider; state is checked
# so many failed sign-ins of one account, or from one address, within so many minutes lock it for as long
WEIR_LOCK_ACCOUNT_FAILURES = int(os.environ.get("WEIR_LOCK_ACCOUNT_FAILURES", "5"))
WEIR_LOCK_ADDRESS_FAILURES = int(os.environ.get("WEIR_LOCK_ADDRESS_FAILURES", "50"))
WEIR_LOCK_MINUTES = int(os.environ.get("WEIR_LOCK_MINUTES", "15"))
# roles that must have a second factor; operators may add to it on a page, never take away from it
WEIR_SECOND_FACTOR_ROLES = environment.words("WEIR_SECOND_FACTOR_ROLES", "operator,finance,auditor" if SECURE else "")
# minutes of a session, by role: "operator=30,*=120"; of several roles the shortest counts
WEIR_SESSION_IDLE_MINUTES = environment.by_name("WEIR_SESSION_IDLE_MINUTES", "operator=60,finance=60,auditor=60,*=120")
# what a person names to be called, such as an OpenID provider, may lie in our own network, and speak without TLS
WEIR_OUTBOUND_PRIVATE = environment.flag("WEIR_OUTBOUND_PRIVATE")
WEIR_SESSION_MINUTES = environment.by_name("WEIR_SESSION_MINUTES", "*=720")
# without a mail server nothing is sent, and nothing fails
SMTP_HOST = os.environ.get("WEIR_SMTP_HOST", "")
EMAIL_BACKEND = f"django.core.mail.backends.{'smtp' if SMTP_HOST else 'dummy'}.EmailBackend"
EMAIL_HOST, EMAIL_PORT = SMTP_HOST or "localhost", int(os.environ.get("WEIR_SMTP_PORT", "587"))
EMAIL_HOST_USER = os.environ.get("WEIR_SMTP_USER", "")
EMAIL_HOST_PASSWORD = os.environ.get("WEIR_SMTP_PASSWORD", "")
EMAIL_USE_TLS = environment.flag("WEIR_SMTP_TLS", default=True)
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = os.environ.get("WEIR_MAIL_FROM", "weir@localhost")
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "/"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": int(os.environ.get("WEIR_PASSWORD_LENGTH", "12"))},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {
        "NAME": "console.accounts.passwords.BreachedPasswordValidator",
        "OPTIONS": {"path": os.environ.get("WEIR_BREACHED_PASSWORDS", "")},
    },
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
SESSION_COOKIE_AGE = 60 * max(WEIR_SESSION_MINUTES.values())
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE
CSRF_COOKIE_SAMESITE = "Lax"
CSRF_FAILURE_VIEW = "console.web.errors.csrf_failure"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_SSL_REDIRECT = SECURE and environment.flag("WEIR_SSL_REDIRECT")
SECURE_HSTS_SECONDS = 31536000 if SECURE else 0
if environment.flag("WEIR_BEHIND_PROXY"):
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'self'"],
        "script-src": ["'self'"],
        # the hash of the empty string: plotly.js loses its title and colour bar without it
        "style-src": ["'self'", "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"],
        "img-src": ["'self'", "data:"],
        "connect-src": ["'self'"],
        "form-action": ["'self'"],
        "frame-ancestors": ["'none'"],
        "base-uri": ["'none'"],
        "object-src": ["'none'"],
    }
}
DATA_UPLOAD_MAX_MEMORY_SIZE = 1024 * 1024

LANGUAGE_CODE = "en"
LANGUAGES = [("en", _("English")), ("zh-hans", _("Simplified Chinese"))]
LOCALE_PATHS = [BASE_DIR / "console" / "locale"]
USE_I18N = True
FORMAT_MODULE_PATH = ["console.web.locales"]
USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_COOKIE_NAME = "weir_language"

STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATICFILES_FINDERS = [
    "django.contrib.staticfiles.finders.FileSystemFinder",
    "django.contrib.staticfiles.finders.AppDirectoriesFinder",
    "console.web.vendor.VendorFinder",  # plotly.js out of its wheel
]
STATIC_ROOT = HOME / "staticfiles"  # filled at the start of the console, console/web/statics.py
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "console.web.statics.HashedStorage"},
}
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = DEBUG

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "console.tenants.authentication.TokenAuthentication",
        "console.tenants.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["console.common.api.permissions.HasActor"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["console.common.api.parsers.StrictJSONParser"],
    "DEFAULT_PAGINATION_CLASS": "console.common.api.paging.KeysetPagination",
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "console.common.api.problems.exception_handler",
    "DEFAULT_THROTTLE_CLASSES": ["console.common.api.throttles.ActorThrottle"],
    "DEFAULT_THROTTLE_RATES": {"actor": os.environ.get("WEIR_API_RATE", "6000/min")},
    "UNAUTHENTICATED_USER": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Weir API",
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "COMPONENT_SPLIT_REQUEST": True,
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "console.common.api.summaries.summaries",
    ],
    "ENUM_NAME_OVERRIDES": {
        "JobState": "pool.scheduling.states.JobState",
        "ReplicaState": "pool.scheduling.states.ReplicaState",
        "StopReason": "pool.scheduling.states.StopReason",
        "JobKind": "pool.scheduling.models.Job.Kind",
        "QueueState": "pool.scheduling.models.Queue.State",
        "Isolation": "pool.scheduling.models.allocation.Isolation",
        "IsolationWanted": ["auto", "exclusive", "mig", "vgpu"],
        "NodeState": "pool.inventory.models.Node.State",
        "DeviceState": "pool.inventory.models.Device.State",
        "Product": "billing.catalog.models.PRODUCTS",
        "LedgerAccount": "billing.ledger.models.Account.Kind",
        "PostingKind": "billing.ledger.models.Posting.Kind",
        "InvoiceState": "billing.invoices.models.Invoice.State",
        "DefragMode": "pool.scheduling.models.DefragRules.Mode",
        "DefragPlanState": "pool.scheduling.models.DefragPlan.State",
        "DefragPlanDropped": "pool.scheduling.models.DefragPlan.Dropped",
        "DefragMoveState": "pool.scheduling.models.DefragMove.State",
        "DefragMoveDropped": "pool.scheduling.models.DefragMove.Dropped",
        "PreemptionState": "pool.scheduling.models.Preemption.State",
    },
}

# Scheduling, nodes
WEIR_CELL = os.environ.get("WEIR_CELL", "main")  # one fenced scheduler a cell
WEIR_LEASE_SECONDS = 5
WEIR_GATEWAY_HOST = os.environ.get("WEIR_GATEWAY_HOST", "127.0.0.1")
WEIR_GATEWAY_PORT = int(os.environ.get("WEIR_GATEWAY_PORT", "8010"))
WEIR_REPORT_SECONDS = 5
WEIR_STALE_REPORTS = 3  # a node that misses more reports takes no new work
# an agent that gets no answer for so long ends its work by itself; so much later its devices are given away
WEIR_NODE_LEASE_SECONDS = float(os.environ.get("WEIR_NODE_LEASE_SECONDS", "30"))
WEIR_NODE_SKEW_SECONDS = float(os.environ.get("WEIR_NODE_SKEW_SECONDS", "5"))
WEIR_LOG_BYTES = int(os.environ.get("WEIR_LOG_BYTES", str(4 << 20)))  # output kept of each stream of a replica
WEIR_GATEWAY_TLS_CERT = os.environ.get("WEIR_GATEWAY_TLS_CERT", "")
WEIR_GATEWAY_TLS_KEY = os.environ.get("WEIR_GATEWAY_TLS_KEY", "")
WEIR_GATEWAY_TLS_CLIENT_CA = os.environ.get("WEIR_GATEWAY_TLS_CLIENT_CA", "")  # then agents must show a certificate
WEIR_LEDGER_DAYS = float(os.environ.get("WEIR_LEDGER_DAYS", "3"))  # so long decisions can be made again
WEIR_DRIVER_RESERVE_PERCENT = int(os.environ.get("WEIR_DRIVER_RESERVE_PERCENT", "0"))

# Money
WEIR_CURRENCY = os.environ.get("WEIR_CURRENCY", "CNY")
WEIR_ENTRY_PRICE = os.environ.get("WEIR_ENTRY_PRICE", "210")
WEIR_ENTRY_UNIT = os.environ.get("WEIR_ENTRY_UNIT", "month")  # hour, day or month of the entry slice
WEIR_ENTRY_SHARE_BP = int(os.environ.get("WEIR_ENTRY_SHARE_BP", "1250"))  # the entry slice: 1/8 of a card
WEIR_ENTRY_MODEL = os.environ.get("WEIR_ENTRY_MODEL", "T4")
WEIR_CHARGE_BASIS = os.environ.get("WEIR_CHARGE_BASIS", "larger")  # compute, memory or the larger share
WEIR_BILLING_ZONE = os.environ.get("WEIR_BILLING_ZONE", "Asia/Shanghai")  # the seller's: days, years of numbers
WEIR_SELLER_NAME = os.environ.get("WEIR_SELLER_NAME", "Weir")
WEIR_METER_LAG_MINUTES = int(os.environ.get("WEIR_METER_LAG_MINUTES", "15"))
WEIR_FONT_PATHS = os.environ.get("WEIR_FONT_PATHS", "")  # more font folders, joined by colons

LOGGING_CONFIG = "console.common.logs.configure"
LOGGING: dict[str, object] = {"level": os.environ.get("WEIR_LOG_LEVEL", "INFO")}
