// Buttons with text, and buttons with only an icon, which have an accessible label.

import type { LucideIcon } from 'lucide-react'
import type { ButtonHTMLAttributes } from 'react'
import css from './button.module.css'

type NativeButton = ButtonHTMLAttributes<HTMLButtonElement>

export function Button(
  props: NativeButton & {
    readonly kind?: 'plain' | 'primary' | 'danger' | 'quiet'
    readonly icon?: LucideIcon
    readonly busy?: boolean
  },
) {
  const { kind = 'plain', icon: Icon, busy, children, ...rest } = props
  return (
    <button
      type="button"
      {...rest}
      className={`${css['button']} ${css[kind]}`}
      disabled={rest.disabled || busy}
      aria-busy={busy || undefined}
    >
      {Icon && <Icon size={15} aria-hidden />}
      {children}
    </button>
  )
}

export function IconButton(
  props: NativeButton & {
    readonly label: string
    readonly icon: LucideIcon
  },
) {
  const { label, icon: Icon, ...rest } = props
  return (
    <button type="button" {...rest} className={css['icon']} aria-label={label} title={label}>
      <Icon size={16} aria-hidden />
    </button>
  )
}
