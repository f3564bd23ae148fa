#compdef hookline
# Completes hookline in zsh; made by `hookline completion zsh`.
_hookline() {
    local line value
    local -a answer values shown
    answer=("${(@f)$(@COMPLETER@ zsh "${(@Q)words[1,CURRENT]}" 2>/dev/null)}")
    case $answer[1] in
        files) _files ;;
        folders) _files -/ ;;
        words)
            for line in "${(@)answer[2,-1]}"; do
                value=${line%%$'\t'*}
                values+=("$value")
                shown+=("${value}${${line#*$'\t'}:+  -- ${line#*$'\t'}}")
            done
            compadd -V hookline -l -d shown -a values
            ;;
    esac
}
if [ "${funcstack[1]}" = _hookline ]; then
    _hookline "$@"
else
    (( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }
    compdef _hookline hookline
fi
