// Text to copy: an id, a snippet, a JSON document.

import { Check, Copy } from 'lucide-react'
import { useEffect, useState } from 'react'
import { IconButton } from './button.tsx'
import css from './code.module.css'

const SHOWN_MS = 1_500

export function CopyButton({ text, label = 'Copy' }: { text: string; label?: string }) {
  const [copied, setCopied] = useState(false)
  useEffect(() => {
    if (!copied) return
    const timer = setTimeout(() => setCopied(false), SHOWN_MS)
    return () => clearTimeout(timer)
  }, [copied])
  const copy = () => navigator.clipboard.writeText(text).then(() => setCopied(true))
  return (
    <>
      <IconButton
        label={label}
        icon={copied ? Check : Copy}
        // A browser may refuse to copy; the text can still be selected.
        onClick={() => void copy().catch(() => undefined)}
      />
      <span className="visually-hidden" role="status">
        {copied ? 'Copied' : ''}
      </span>
    </>
  )
}

/** Shows the beginning and the end of a long id. Copying gives the whole id. */
export function Id({ value, copy = true }: { readonly value: string; readonly copy?: boolean }) {
  const short = value.length > 22 ? `${value.slice(0, 12)}…${value.slice(-6)}` : value
  return (
    <span className={css['id']}>
      <code title={value}>{short}</code>
      {copy && <CopyButton text={value} label={`Copy ${short}`} />}
    </span>
  )
}

export function CodeBlock({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    <div className={css['block']}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keyboard */}
      <section className={css['text']} tabIndex={0} aria-label={label}>
        <pre>{text}</pre>
      </section>
      <span className={css['copy']}>
        <CopyButton text={text} label={`Copy ${label}`} />
      </span>
    </div>
  )
}
