"""Workbooks made of rows of values."""

import base64
import datetime
import io
import lzma
import zipfile
from collections.abc import Sequence

import openpyxl

PEOPLE = [["name", "age", "born", "paid", "class"]]
PEOPLE += [[f"P{i}", 20 + i / 2, datetime.date(1960 + i, 1, 31), bool(i % 2), "xy"[i % 2]] for i in range(8)]
# PEOPLE from C5 on, written by xlwt; packed and in base 85.
XLS = lzma.decompress(
    base64.b85decode(
        "T>t=p0RR90|NsC0{{Uz+z8r=ycVP6SgepJ`9Cjyy@{xwzh{`9r;h?w11QTbQ&6v4qH5DqE;RDmf=*-ddOF!ADBJp6^u*dE%)j~d{"
        "qlzMTfmIQ38#MY4`=iQc0LNj?E2yB6I4}u}%N>gz-_b`H4Rqu1*e8#bC}XCrObY5-I-IZ7@B>D*#y4PEm=sEa$Cs90zi58uIB=>B"
        "5BWQ{9?2A^he@pPr}6mETlgIeMr4s0Wed4hY@jAdIEh^HEv}#Z_i%UxbDb4_xpaP(HF~~*y@RjggPplHQQL3^tq8GN_IY!O`D>Y9"
        "GilHmF=gpiXA*1$G<g9mZ5N8n6PGKLJs4bCgj(}@j6o^e3wx^Oz8CI|;@J1ISNwF`!VQEqVAf`LJWTD<VCz6s)%jff#o7JcGA{t$"
        "EpnzQ9`q5SUoZOSqX;@2{$y(Z2(dRYc=osyz&(+|C6{rm-(d{*f5KlC6`})Hn;uSLgd)mrNv<%GL`YjZZh018y(9u3|J=yc8_?d`"
        "{dw;Fp0{}uZ6xe`Rle)lPD>>KLCouSVPKOC9BHhoSV_#2r<^a+)`}JVIprbKGbd#VQb4byQyap^{r&v+g#P$|C@IsbMI`oBz{9Dh"
        "Gc8Q`{m`m7cjf^L3FQ$*VkexRzSu8wCkqV?oZneoyvo`po9c$gfTnNcZQ;(vCp=kcm^a%4Nnw=y1G^0WwJ{knq>uj!tnEVg?{;+-"
        "|Ni~?l?9=GOI!lZF3H{sbxPb|5lI}MnWhTXc+}*ZTb~C*4M56c3x0jf1OupV_)$(4s#N9IgS;?$c9OT1SuZc}96Yqag{-~WGLhC("
        "XjQu%ZvJiE-_OYU%?m>Sh+~NZ8;;;JG-xb1cw@O5qKXRP{y;HglTwITwcgs_X^|4^%B|f?C$ziYJcLY9@aZ^}FpuzQ#BjDt(M4%!"
        ")1!a?>?4wwipP4PZcp*{w*M+Nl>h"
    )
)
# Three errors in the cells of y, written by xlwt; packed and in base 85.
XLS_WITH_ERRORS = lzma.decompress(
    base64.b85decode(
        "{Wp48S^xk9=GL@E0stWa8~^|S5YJf5;1&M@qg?=KGrk;#Fn3_|q=YI!3><bRg7T4u+=$92y5XR=#sm{*o6VTHX*Crpnc)M|#puk@^h-b"
        "4s3P%T*|5j%FV#XmrK5@>cY#$Aa2quG5BsCaW&p=w%`2#&kvK33jLRL19^cVN7!7pe@YpAhl_+DTtxO8)TRNPt)$jvGwZ=DKT9_0{g2$"
        "JZU%zO6<~VSw4G;M{w;st9r-w<b@Tc+k&|C0M&PHA6K~|~0kBh|_pUQmSm{4vIjrt3iHZe`{3`Ff*C_^7JGHU+yc{3lCY(Vxaxe`_Vtr"
        "!Pd_I3M<^iEn_85YLv;`z6?8Xx4}*Ot{;H&=w<sC<LY>iRX=QE7~Q7Sb4C7mn=o+!-zj{EYCSa6C30!-rMr&&aGEG_VG0V1z9)ij!Eh0"
        "FX(Tv8Ni-IIL9cg#BG6CSyQfcoFf&F~9h(!ZSoEj=XN9-=p$H`i8aD*l_E}yB(V3MYmE?yw5TdFPkruDueNN(;v>Wf*>na6HK8e@cRwJ"
        "^a(VB0Ute>LUt{wpF?#XHiYd6Lo^_*zkmDh6-9kW%R*UXYresPAaLl_*B@aWeXS5(k2lr5IQN?FPM~EFJ9?5T<8@uaP6`7Xh3|wzM~48"
        "h1}Z6qgf2kkPk{e#b)bFN#z?W%OiUpkLEX(xqmkxEQp)n>)B>J4aT>OiM!HIhmM^wYN#z1c(U>v#HXj93D%y3BDO<=fAMY^50`)+gR>S"
        "b_=6<?BXWff-g!wQT6Aci4vt+;(dD%N|4wc>eiCt4z61w~wjXm0yN+ywN5df0M=4;haI*qZZm1BaIaCVD~nD$xX*Zex7RN`2*4DuC-lt"
        "X+#1^>1?kSV#K@oWgO8;(T4t@w?~)*ctkZ!Wi~E=4bw=n-r$anJw&TD)+R8uZ`K00F-RfGhw2vhycAvBYQl0ssI200dcD"
    )
)
MIMETYPE = "application/vnd.oasis.opendocument.spreadsheet"


def workbook_of_rows(rows: Sequence[Sequence[object]], merged: Sequence[str] = ()) -> bytes:
    """Return a workbook of one sheet; `merged` are areas of merged cells such as "C1:D1"."""
    book = openpyxl.Workbook()
    sheet = book.active
    for row in rows:
        sheet.append(list(row))
    for cells in merged:
        sheet.merge_cells(cells)
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def ods_of_rows(rows: Sequence[Sequence[object]], more_rows: str = "") -> bytes:
    """Return an OpenDocument workbook of one sheet; `more_rows` is XML behind the rows."""
    body = "".join(f"<table:table-row>{''.join(map(_ods_cell, row))}</table:table-row>" for row in rows)
    content = (
        '<?xml version="1.0"?><office:document-content xmlns:office="o" xmlns:table="t" xmlns:text="x"><office:body>'
        f'<office:spreadsheet><table:table table:name="S">{body}{more_rows}</table:table></office:spreadsheet>'
        "</office:body></office:document-content>"
    )
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", MIMETYPE, zipfile.ZIP_STORED)
        archive.writestr("META-INF/manifest.xml", '<manifest:manifest xmlns:manifest="m"/>')
        archive.writestr("content.xml", content)
    return buffer.getvalue()


def _ods_cell(value: object) -> str:
    if value is None:
        return "<table:table-cell/>"
    sorts = {bool: "boolean", int: "float", float: "float", datetime.date: "date"}
    sort = sorts.get(type(value), "string")
    attribute = {"float": "value", "string": "string-value"}.get(sort, f"{sort}-value")
    text = str(value).lower() if isinstance(value, bool) else value
    attributes = f'office:value-type="{sort}" office:{attribute}="{text}"'
    return f"<table:table-cell {attributes}><text:p>{value}</text:p></table:table-cell>"
