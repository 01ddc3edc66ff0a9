// Escapes text for HTML.

const ESCAPED: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

export const escaped = (text: unknown): string =>
  String(text).replaceAll(/[&<>"']/g, (character) => ESCAPED[character] ?? '')
