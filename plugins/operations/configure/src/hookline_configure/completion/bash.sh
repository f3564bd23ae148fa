# Completes hookline in bash; made by `hookline completion bash`.
_hookline() {
    local kind word
    COMPREPLY=()
    {
        IFS= read -r kind
        while IFS= read -r word; do
            COMPREPLY+=("${word%%$'\t'*}")
        done
    } < <(@COMPLETER@ bash "$COMP_WORDBREAKS" "${COMP_LINE:0:$COMP_POINT}" 2>/dev/null)
    case $kind in
        files | folders)
            compopt -o filenames 2>/dev/null
            while IFS= read -r word; do
                COMPREPLY+=("$word")
            done < <(if [ "$kind" = files ]; then compgen -f -- "$2"; else compgen -d -- "$2"; fi)
            ;;
    esac
}
complete -o nosort -F _hookline hookline 2>/dev/null || complete -F _hookline hookline
