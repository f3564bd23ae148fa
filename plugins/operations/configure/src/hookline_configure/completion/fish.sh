# Completes hookline in fish; made by `hookline completion fish`.
function __hookline_answer
    set -l current (commandline -ct)
    set -l answer (@COMPLETER@ fish (commandline -opc) "$current" 2>/dev/null)
    set -l kind $answer[1]
    set -e answer[1]
    switch "$kind"
        case files
            __fish_complete_path "$current"
        case folders
            __fish_complete_directories "$current" ''
        case words
            for line in $answer
                echo $line
            end
    end
end
complete -c hookline -k -f -a '(__hookline_answer)'
