// Buttons with text, and buttons with only an icon, which have an accessible label.

import type { LucideIcon } from 'lucide-react'
import type { ButtonHTMLAttributes } from 'react'
import css from './button.module.css'

type NativeButton = ButtonHTMLAttributes<HTMLButtonElement>

interface ButtonProps extends NativeButton {
  readonly kind?: 'plain' | 'primary' | 'danger' | 'quiet'
  readonly icon?: LucideIcon
  readonly busy?: boolean
}

export function Button({ kind = 'plain', icon: Icon, busy, children, ...rest }: ButtonProps) {
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

interface IconButtonProps extends NativeButton {
  readonly label: string
  readonly icon: LucideIcon
}

export function IconButton({ label, icon: Icon, ...rest }: IconButtonProps) {
  return (
    <button type="button" {...rest} className={css['icon']} aria-label={label} title={label}>
      <Icon size={16} aria-hidden />
    </button>
  )
}
