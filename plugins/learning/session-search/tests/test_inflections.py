"""Inflected words in the main languages, and text without blanks, found through the tool."""

from __future__ import annotations

import unicodedata
from typing import Any

import pytest

PAIRS = {
    "de": """
haeuser:Häuser Häuser:haeuser strasse:Straße Straße:strasse gruesse:Grüße Fuß:Füße fuesse:Fuß
Muell:Müll unterschreiben:unterschrieben schreiben:geschrieben kaufen:gekauft
einkaufen:eingekauft nehmen:genommen sprechen:gesprochen Buch:Bücher Baum:Bäume Mutter:Mütter
groß:größer Kind:Kindern Auto:Autos Lehrerin:Lehrerinnen Rechnung:Rechnungen arbeiten:arbeitete
fahren:gefahren fährt:fahren lesen:gelesen liest:lesen finden:gefunden schneller:schnell
Fehler:Fehlern Prüfung:Prüfungen löschen:gelöscht installieren:installiert verlieren:verloren
schließen:geschlossen gehen:gegangen ging:gehen essen:gegessen bringen:gebracht denken:gedacht
Firma:Firmen Datum:Daten Museum:Museen Thema:Themen bestellen:bestellte Lösung:Lösungen
Loesung:Lösungen Vorschlag:Vorschläge Vorschlaege:Vorschlag Server:Servern Passwort:Passwörter
passwoerter:Passwort abschließen:abgeschlossen angerufen:anrufen verschicken:verschickt
empfohlen:empfehlen übertragen:überträgt schwarz:schwarze gut:besser Bild:Bilder Übung:Übungen
Uebung:Übungen Nacht:Nächte Tochter:Töchter gewusst:wissen gewesen:sein lief:laufen
bezahlt:bezahlen gearbeitet:arbeiten vergessen:vergaß aktualisieren:aktualisierte
Zahnarzt:Zahnärzte Zahnarzttermin:Zahnarzttermine Straßen:strasse gelöst:lösen
hingefahren:hinfahren kürzer:kurz alt:ältere Küche:Küchen schöne:schön
""",
    "fr": """
cheval:chevaux journal:journaux travail:travaux œil:yeux maison:maisons parler:parlons
finir:finissons grand:grandes heureux:heureuse nouveau:nouvelle beau:belle long:longue
actif:active manger:mangeons acheter:achète appeler:appelle écrire:écrivons prendre:pris
faire:fait aller:allons avoir:avons vendre:vendu règle:règles clé:clefs developpeur:développeuse
général:générale signer:signé payer:payons lire:lu boire:bu venir:venu mettre:mis ouvrir:ouvert
œuf:œufs voiture:voitures ami:amies cheveu:cheveux bateau:bateaux hôpital:hôpitaux
acheter:achetons commencer:commençons choisir:choisi rendre:rendu partir:partons
premier:première italien:italienne sérieux:sérieuse public:publique doux:douce gentil:gentille
réunion:réunions dîner:dînons réserver:réservé mot:mots envoyer:envoie voir:verra naître:né
facteur:facteurs
""",
    "es": """
casa:casas ciudad:ciudades luz:luces niño:niñas hablar:hablamos comer:comiendo pedir:pidió
dormir:durmió hacer:hecho decir:dicho escribir:escrito ver:visto poner:puesto tener:tengo ir:fue
contraseña:contraseñas rojo:rojas grande:grandes servidor:servidores canción:canciones
pagar:pagué buscar:busqué empezar:empiezo contar:cuento joven:jóvenes lápiz:lápices pez:peces
voz:voces reunión:reuniones francés:francesa trabajador:trabajadora vivir:vivimos llegar:llegué
sacar:saqué pensar:pienso volver:vuelve encontrar:encuentra cerrar:cierra jugar:juega
feliz:felices autobús:autobuses mujer:mujeres comprar:compré cenar:cenamos leer:leyó país:países
examen:exámenes recomendar:recomienda
""",
    "it": """
casa:case libro:libri città:citta amico:amici banco:banchi uomo:uomini parlare:parlato
leggere:letto scrivere:scritto fare:fatto prendere:preso mettere:messo andare:andiamo
finire:finisco rosso:rosse bianco:bianche problema:problemi mano:mani lavoro:lavori
pagare:paghiamo vedere:visto dire:detto aprire:aperto venire:venuto gioco:giochi lago:laghi
amica:amiche città:città studente:studenti professore:professoressa bello:bella vino:vini
bicchiere:bicchieri comprare:comprato mangiare:mangiamo cercare:cerchi dormire:dormo
partire:parto tedesco:tedeschi chiave:chiavi riunione:riunioni occhio:occhi figlio:figli
uscire:esco credere:creduto arrivare:arrivata giornale:giornali
""",
    "pt": """
casa:casas cartão:cartões pão:pães animal:animais papel:papéis homem:homens falar:falamos
escrever:escrito fazer:feito comer:comeu vermelho:vermelhas bom:boa mau:má servidor:servidores
senha:senhas difícil:difíceis flor:flores luz:luzes mês:meses pagar:paguei ver:visto dizer:disse
pôr:posto ter:tenho abrir:aberto irmão:irmãos alemão:alemães reunião:reuniões mão:mãos
coração:corações jornal:jornais hotel:hotéis fácil:fáceis azul:azuis viagem:viagens
professor:professora comprar:comprei chegar:cheguei ficar:fiquei vender:vendido sair:saiu
dormir:dormiu comum:comuns lição:lições chave:chaves trabalhar:trabalhamos inglês:ingleses
jogar:joguei lençol:lençóis
""",
    "ru": """
книга:книги книга:книгой дом:дома город:городов сервер:серверы пароль:пароля писать:пишу
писать:писал читать:читает красный:красная большой:больших человек:люди друг:друзья
ребёнок:ребенка ёлка:елка встреча:встречи отец:отца день:дня идти:шёл делать:сделал
покупать:купил рука:руки машина:машины машина:машину стол:столом окно:окна неделя:недели
новый:новая синий:синяя хороший:хорошего работать:работаю ждать:ждёт письмо:писем собака:собак
учитель:учителя купить:купила найти:нашла рассказ:рассказы встретить:встретил задача:задачей
команда:командой ключ:ключи оплатить:оплатил
""",
    "en": """
go:went write:written buy:bought mouse:mice child:children city:cities run:running big:bigger
analysis:analyses index:indices color:colour organize:organise sell:sold break:broken meet:met
foot:feet woman:women leaf:leaves thief:thieves wolf:wolves matrix:matrices crisis:crises
phenomenon:phenomena datum:data behaviour:behavior realise:realized catch:caught studied:study
stopping:stop box:boxes tooth:teeth drove:drive taking:take knives:knife
""",
    "tr": """
kitap:kitaplar kitap:kitabı şifre:şifreler sunucu:sunucuya toplantı:toplantılar
araba:arabalar dosya:dosyayı proje:projeler çocuk:çocuklar rapor:raporu İstanbul:istanbul
fatura:faturalar müşteri:müşteriler hata:hatalar
""",
    "da": """
hus:huset bil:biler kunde:kunder faktura:fakturaer møde:mødet regning:regninger barn:barnet
server:servere rejse:rejser dag:dage adgangskode:adgangskoder fejl:fejlen bog:bogen
""",
    "el": """
σπίτι:σπίτια βιβλίο:βιβλία λογαριασμός:λογαριασμού διακομιστής:διακομιστές κωδικός:κωδικού
πελάτης:πελάτες συνάντηση:συναντήσεις αρχείο:αρχεία σφάλμα:σφάλματα τιμολόγιο:τιμολόγια
""",
    "ar": """
كتاب:الكتاب ملف:ملفات خادم:الخادم اجتماع:اجتماعات فاتورة:الفاتورة مشروع:المشروع سيارة:سيارات
مستخدم:المستخدمين تقرير:التقرير
""",
    "hu": """
ház:házak ház:házban könyv:könyvek jelszó:jelszavak számla:számlák kiszolgáló:kiszolgálók
fájl:fájlok ügyfél:ügyfelek megbeszélés:megbeszélések autó:autót hiba:hibák város:városban
""",
    # `dom` first: each search adds a reply "done", which is taken for a form of it.
    "pl": """
dom:domu książka:książki serwer:serwery serwer:serwera hasło:hasła faktura:faktury
spotkanie:spotkania klient:klientów plik:pliki błąd:błędy samochód:samochody umowa:umowy
projekt:projektów
""",
    "fi": """
talo:talot talo:talossa kirja:kirjat salasana:salasanat lasku:laskut palvelin:palvelimet
kokous:kokoukset tiedosto:tiedostot auto:autoja
""",
    "sv": """
bil:bilar hus:huset kund:kunder faktura:fakturor möte:möten lösenord:lösenordet server:servrar
fel:felet räkning:räkningar bok:boken
""",
    "cs": """
kniha:knihy server:servery heslo:hesla faktura:faktury schůzka:schůzky zákazník:zákazníci
soubor:soubory chyba:chyby auto:auta
""",
    "ro": """
casă:case carte:cărți server:servere parolă:parole factură:facturi client:clienți fișier:fișiere
întâlnire:întâlniri eroare:erori
""",
    "uk": """
книга:книги сервер:сервери пароль:паролі рахунок:рахунки зустріч:зустрічі файл:файли
клієнт:клієнти помилка:помилки
""",
    "id": """
buku:bukunya server:servernya kata:katanya file:filenya
""",
    "hi": """
किताब:किताबें गाड़ी:गाड़ियाँ फ़ाइल:फ़ाइलें ग्राहक:ग्राहकों बैठक:बैठकें
""",
}
"""Two forms of a word each, by language."""
UNLIKE = """
cat:category study:students server:service house:horse Haus:Haut leben:lieben Welt:Wald Hund:Hand
Nacht:nackt Karte:Kater maison:maire дом:дым Tisch:Fisch Mutter:Muster
Bremse:Brombeere araba:arama kitap:kutup hata:hafta könyv:könny hasło:masło dom:dym
книга:книжник пароль:пара βιβλίο:βίος κωδικός:κώδωνας كتاب:كلب مشروع:شارع invoice:involve
kunde:kunst lasku:laiska casă:cale
"""
UNSPACED = {
    "我们决定把数据库迁移到新的服务器": ["数据库", "迁移数据库", "新服务器", "服务器迁移"],
    "明天下午三点开会讨论预算": ["开会", "预算讨论", "明天开会", "三点"],
    "用户喜欢喝绿茶，不喜欢咖啡": ["绿茶", "喜欢绿茶", "咖啡"],
    "密碼已經更新，請重新登入": ["密碼", "更新密碼", "重新登入"],
    "サーバーの設定を変更しました": ["設定", "サーバー設定", "設定変更", "サーバーの変更"],
    "来週の会議は東京で行います": ["会議", "東京会議", "来週の東京"],
    "請求書をメールで送ってください": ["請求書", "メール", "請求書メール"],
    "パスワードを忘れた場合は再設定が必要です": ["パスワード再設定", "ﾊﾟｽﾜｰﾄﾞ", "再設定"],
    "서버 설정을 변경했습니다": ["서버", "설정", "서버 변경"],
    "내일 오후 회의에서 예산을 논의합니다": ["회의", "예산", "내일 회의", "예산 회의"],
    "비밀번호를 잊어버렸어요": ["비밀번호"],
}
"""Queries that find each message."""


@pytest.mark.long
@pytest.mark.parametrize("language", PAIRS)
def test_each_form_of_a_word_finds_the_other(talk: Any, language: str) -> None:
    pairs = [pair.split(":") for pair in PAIRS[language].split()]
    words = dict.fromkeys(word for pair in pairs for word in pair)
    for word in words:
        talk.say(f"0 {word} 0")
    missed = [
        f"{typed} does not find {said}"
        for pair in pairs
        for typed, said in (pair, pair[::-1])
        if f"0 {said} 0" not in talk.found(typed, limit=10)
    ]
    assert not missed, "\n".join(missed)


@pytest.mark.long
def test_unlike_words_do_not_find_one_another(talk: Any) -> None:
    pairs = [pair.split(":") for pair in UNLIKE.split()]
    for word in dict.fromkeys(word for pair in pairs for word in pair):
        talk.say(f"0 {word} 0")
    found = [
        f"{typed} finds {said}"
        for pair in pairs
        for typed, said in (pair, pair[::-1])
        if f"0 {said} 0" in talk.found(typed, limit=10)
    ]
    assert found == []


@pytest.mark.long
def test_queries_without_blanks_find_the_message(talk: Any) -> None:
    for said in UNSPACED:
        talk.say(said)
        talk.say(unicodedata.normalize("NFD", said[::-1]))
    missed = [
        f"{typed} does not find {said}"
        for said, queries in UNSPACED.items()
        for typed in queries
        if said not in talk.found(typed, limit=10)
    ]
    assert not missed, "\n".join(missed)
