// Tells the server the browser's zone, which it writes times in unless the account chose another. No module: it runs
// before the body is read, so that a page in another zone is asked for again before any of it is seen.
(() => {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const cookie = `weir_zone=${encodeURIComponent(zone)}`;
  const kept = () => document.cookie.split("; ").includes(cookie);
  if (!zone || kept()) return;
  document.cookie = `${cookie}; path=/; max-age=31536000; samesite=lax`;
  const { zone: written } = document.documentElement.dataset;
  // once for each zone, and never where cookies are refused
  if (written && written !== zone && kept()) location.reload();
})();
