// What a byte means in words, in the page's language. `texts` comes from the template.
import { MARK, NO_DATA, SEVERAL, STALE, TOP } from "./heatmap-frame.js";

export class Words {
  constructor(texts, language) {
    this.texts = texts;
    this.number = new Intl.NumberFormat(language, { maximumFractionDigits: 0 });
    this.tenths = new Intl.NumberFormat(language, { minimumFractionDigits: 1, maximumFractionDigits: 1 });
  }

  fill(key, values) {
    return Object.entries(values).reduce((text, [name, value]) => text.replaceAll(`%(${name})s`, value), this.texts[key]);
  }

  layer(name) {
    return this.texts[`layer_${name}`];
  }

  value(layer, value, model, tenants) {
    if (layer === "tenant") {
      if (value === SEVERAL) return this.texts.several;
      return value === 0 ? this.texts.free : (tenants[value - 1] ?? "…");
    }
    if (value === NO_DATA) return this.texts.no_data;
    if (value === STALE) return this.texts.stale;
    if (layer === "temperature") return `${this.number.format(value / 2)} °C`;
    if (layer === "power") {
      const limit = model?.power_w ?? 0;
      return `${this.number.format((value / 200) * limit)} W / ${this.number.format(limit)} W`;
    }
    return `${this.number.format((100 * value) / TOP)} %`;
  }

  marks(bits) {
    const named = ["fault", "cordon", "drain", "unreachable", "mig"];
    return named.filter((name) => bits & MARK[name]).map((name) => this.texts[`mark_${name}`]);
  }

  // age of the newest frame
  age(seconds) {
    return this.fill("updated", { n: seconds < 10 ? this.tenths.format(seconds) : this.number.format(seconds) });
  }
}
